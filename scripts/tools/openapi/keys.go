package main

import "strings"

const keyReference = "#/components/parameters/Idempotency-Key"

// completeKeys adds the header of the idempotency key to every POST. Exceptions are methods that their
// idempotency_level declares as safe to repeat, and uploads, which are identified by their content. Operations without
// a contract describe their headers themselves.
func (c *contracts) completeKeys(doc object) {
	for _, op := range operations(doc) {
		unkeyed, known := c.unkeyed[strings.TrimRight(op.id(), "0123456789")]
		if op.method != "post" || unkeyed || !known {
			continue
		}
		list, _ := op.body["parameters"].([]any)
		op.body["parameters"] = append(list, object{"$ref": keyReference})
		answers := child(op.body, "responses")
		headers := child(child(answers, "200"), "headers")
		headers["Idempotent-Replayed"] = object{"$ref": "#/components/headers/Idempotent-Replayed"}
	}
}

// isKeyed reports whether the operation has the header of the idempotency key.
func (o operation) isKeyed() bool {
	list, _ := o.body["parameters"].([]any)
	for _, p := range list {
		if parameter, _ := p.(object); parameter["$ref"] == keyReference {
			return true
		}
	}
	return false
}
