// Package v03 converts between the wires of A2A 0.3 and 1.0: JSON in, JSON out. It knows both
// forms of 0.3: JSON-RPC, whose values have a kind, and HTTP+JSON, which is ProtoJSON of the
// package a2a.v1.
//
// Requests of 0.3 become requests of 1.0, which are then decoded and checked like any other,
// so that a message is the same message in both versions. Answers and events of 1.0, as stored
// in the log, are converted to 0.3 in one pass and without decoding: values that both versions
// share keep their bytes.
//
// The media type and the file name of a text or data part are lost, because 0.3 has no field
// for them. Data that is not an object is wrapped as {"value": …}, and the metadata of its
// part then has data_part_compat, as in the SDK; requests are unwrapped in the same way.
//
// The tests compare the package with the conversions of the SDK (a2acompat/a2av0,
// a2apb/v0/pbjson), except for the SDK's mistakes. All functions are pure and safe for
// concurrent use.
package v03
