package document

// Names lists the fields of the document.
func Names() []string {
	var names []string
	for _, f := range fieldsOf(Schema) {
		names = append(names, f.name)
	}
	return names
}
