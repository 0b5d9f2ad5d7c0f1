package document

// Names returns the names of the document fields.
func Names() []string {
	var names []string
	for _, f := range fieldsOf(Schema) {
		names = append(names, f.name)
	}
	return names
}
