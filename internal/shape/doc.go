// Package shape checks that JSON text has the shape of a wire type before it is decoded,
// and names the member that is at fault.
//
// The shape is derived from the Go type: strings, numbers, lists and nested structs are
// what they look like, a json.RawMessage is any value, and a pointer changes nothing.
// Members that a struct does not declare are let through: they survive in its Unknown
// map. What the type does not say stands in the struct tag "wire", as words separated by
// commas:
//
//   - required: the member must be there
//   - null: null is allowed as well
//   - nonempty: a string of at least one character
//   - min=N: an integer of at least N
//   - time: an RFC 3339 date and time
//   - scalar: a raw value that is a string, a number or a boolean
//   - object: a raw value that is an object
//   - extensions: an object whose names are namespaces and whose values are objects
//   - modules: the same, whose values may be lists too
//   - instead: when this member is there, the required ones are not, and of the others
//     only extensions may stand beside it
package shape
