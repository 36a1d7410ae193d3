// Package examples holds programs that use the library; each folder is one.
package examples
