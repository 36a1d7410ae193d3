package connect

import "crypto/sha256"

// digest stands for a text.
type digest [sha256.Size]byte

// recent holds what was found out about the last texts, by their digests. The zero
// value holds nothing. It is not safe for concurrent use.
type recent[V any] struct {
	known map[digest]V
	order []digest // in which they are forgotten, next first once it is full
	next  int
}

func (r *recent[V]) get(d digest) (V, bool) {
	v, ok := r.known[d]
	return v, ok
}

// put remembers v and forgets the oldest when there would be more than most, which is the
// same in every call.
func (r *recent[V]) put(most int, d digest, v V) {
	if _, again := r.known[d]; again {
		r.known[d] = v
		return
	}
	if r.known == nil {
		r.known = make(map[digest]V)
	}
	if len(r.order) < most {
		r.order = append(r.order, d)
	} else {
		delete(r.known, r.order[r.next])
		r.order[r.next] = d
		r.next = (r.next + 1) % most
	}
	r.known[d] = v
}
