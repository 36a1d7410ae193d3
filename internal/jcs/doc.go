// Package jcs judges JSON text before anything decodes it, and writes its RFC 8785
// canonical form.
//
// Parsing is strict: invalid UTF-8, duplicate object names, lone surrogates, numbers
// outside the finite double range and nesting deeper than a limit are refused. The
// grammar itself and the sorting are jsontext's; what it does not judge (the number
// range, the nesting limit, whether text already is canonical, whether a double
// carries a number exactly) is judged here in one pass.
//
// Functions never change their input and are safe for concurrent use.
//
// Source: wire spec, sections 1 and 3.
package jcs
