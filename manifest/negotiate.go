package manifest

// Negotiate returns the capabilities that both peers have, in the responder's order
// and without repetition. Nil when there are none.
//
// Source: wire spec, section 4.
func Negotiate(initiator, responder []string) []string {
	var shared []string
	offered, taken := setOf(initiator), make(set)
	for _, capability := range responder {
		if offered.has(capability) && !taken.has(capability) {
			taken[capability] = struct{}{}
			shared = append(shared, capability)
		}
	}
	return shared
}
