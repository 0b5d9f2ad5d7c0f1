// Package labjson owns the JSON of the REST interfaces: it turns protobuf messages into the documented bodies
// and back, walking descriptors whose tables are built once per message type.
//
// What differs from proto-JSON: names are the proto field names exactly; 64-bit integers are JSON numbers and refused
// beyond ±2^53 in both directions; an unset optional or message field prints null, an empty list [], an unset oneof
// member and an empty field with option lab.type.v1.omit_empty nothing; enums are numbers; NaN and infinities are
// refused; output bytes are stable. A message lab.type.v1.RawJSON carries its JSON value byte for byte (null is unset).
// Flags (bool fields, and int32 fields with option lab.type.v1.flag) accept true, false, 1, 0 and the same as text,
// "True" and "False" included.
//
// Input is strict JSON: duplicate keys, trailing data, invalid UTF-8 and nesting beyond 100 levels are refused.
// Unknown names are dropped, and reported for the top level; a message with option lab.type.v1.strict refuses
// them. Errors are sentences for people and carry the path of the value at fault.
package labjson
