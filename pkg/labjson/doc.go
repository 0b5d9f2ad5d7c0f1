// Package labjson converts between protobuf messages and the JSON bodies of the REST interfaces. It walks descriptors,
// with tables that are built once per message type.
//
// The differences from proto-JSON: names are exactly the proto field names; 64-bit integers are JSON numbers; a value
// beyond ±2^53 is an error in input, and in output null with the digits in a member <field>_text (for a list, null in
// its place and a list of all digits), so that a large value does not make a response fail; an unset optional or
// message field is null and an empty list is [], while an unset oneof member, and an empty field with option
// lab.type.v1.omit_empty, are left out; enums are numbers; NaN and infinities are errors; the same message always
// yields the same bytes. A message lab.type.v1.RawJSON contains its JSON value byte for byte (null means unset). Flags
// (bool fields, and int32 fields with option lab.type.v1.flag) accept true, false, 1 and 0, also as text, including
// "True" and "False".
//
// Input also accepts a number as text ("30") in every numeric field, as proto-JSON does: form data has only text.
// Output has numbers. A missing field reads as its zero value, and a field without optional does not show that it was
// missing: declare a required number for which 0 is valid as optional, with google.api.field_behavior REQUIRED for
// readers of the document, and have the use case refuse a nil. This package enforces no required field.
//
// Input must be strict JSON: duplicate keys, trailing data, invalid UTF-8 and nesting beyond 100 levels are errors.
// Unknown names are ignored, and reported for the top level; they are an error if they resemble a field (see Near), and
// for a message with option lab.type.v1.strict. Errors are sentences for users and contain the path of the wrong value.
package labjson
