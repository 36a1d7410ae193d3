// Package story is what the two programs of the connect demo do. An app puts its compass
// into a host's world; in the middle of that put the host rolls dice on the very app that
// called it, and the app finds the roll among the entries that it lists.
//
// [Host] and [App] each use the library as a program of its own would; they share nothing
// but the toy world and the demo keys.
package story
