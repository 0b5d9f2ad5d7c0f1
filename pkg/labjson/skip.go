package labjson

// skip reads any value as strictly as a known field, and discards it.
func (d *decoder) skip() error {
	switch d.peek() {
	case '{':
		return d.skipObject()
	case '[':
		return d.skipList()
	case '"':
		_, err := d.text()
		return err
	case 't':
		return d.literal("true")
	case 'f':
		return d.literal("false")
	case 'n':
		return d.literal("null")
	default:
		_, err := d.number()
		return err
	}
}

func (d *decoder) skipObject() error {
	var seen keys
	return d.object(func(name []byte) error {
		if !seen.add(name) {
			return d.duplicate(name)
		}
		return d.skip()
	})
}

func (d *decoder) skipList() error {
	return d.array(func(int) error { return d.skip() })
}

// object calls member with pos at each value; array calls element with each index.
func (d *decoder) object(member func(name []byte) error) error {
	if err := d.enter(); err != nil {
		return err
	}
	for more := d.peek() != '}'; more; {
		name, err := d.key()
		if err != nil {
			return err
		}
		if err := member(name); err != nil {
			return err
		}
		if more, err = d.more('}'); err != nil {
			return err
		}
	}
	d.leave()
	return nil
}

func (d *decoder) array(element func(index int) error) error {
	if err := d.enter(); err != nil {
		return err
	}
	i := 0
	for more := d.peek() != ']'; more; i++ {
		if err := element(i); err != nil {
			return err
		}
		var err error
		if more, err = d.more(']'); err != nil {
			return err
		}
	}
	d.leave()
	return nil
}

// shownName is the maximum number of bytes of a name in a message.
const shownName = 64

func (d *decoder) duplicate(name []byte) error {
	if len(name) > shownName {
		return d.syntax("has a name twice in one object")
	}
	return d.syntax(`has the name "` + string(name) + `" twice in one object`)
}

// fewKeys is the number of names that are compared one by one before a set is used.
const fewKeys = 8

// keys detects repeated names: in a short list without allocation, then in a set.
type keys struct {
	list [fewKeys][]byte
	n    int
	set  map[string]struct{}
}

// add reports whether name is new. Its bytes must stay unchanged while keys is in use.
func (k *keys) add(name []byte) bool {
	if k.set != nil {
		if _, ok := k.set[string(name)]; ok {
			return false
		}
		k.set[string(name)] = struct{}{}
		return true
	}
	for _, old := range k.list[:k.n] {
		if string(old) == string(name) {
			return false
		}
	}
	if k.n < fewKeys {
		k.list[k.n] = name
		k.n++
		return true
	}
	k.set = make(map[string]struct{}, 2*fewKeys)
	for _, old := range k.list {
		k.set[string(old)] = struct{}{}
	}
	k.set[string(name)] = struct{}{}
	return true
}
