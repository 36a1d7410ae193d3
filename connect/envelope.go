package connect

import (
	"crypto/ed25519"
	"fmt"
	"math/bits"
	"strconv"
	"unicode/utf8"

	"github.com/spoke-peer/spoke-go/internal/b64url"
	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/spoke"
)

// field is a top-level member of an envelope. The constants stand in the order of
// their names, which is the order of canonical bytes.
type field uint8

const (
	fieldAuth field = iota
	fieldError
	fieldExtensions
	fieldHost
	fieldInitialSequence
	fieldInitiatorPeerID
	fieldNegotiatedCapabilities
	fieldNonce
	fieldOp
	fieldOpenedAt
	fieldPayload
	fieldPeerID
	fieldPeerNonce
	fieldProtocolVersion
	fieldRequestID
	fieldResponderPeerID
	fieldSequence
	fieldSessionID
	fieldSignature
	fieldCount
)

var fieldNames = [fieldCount]string{
	"auth", "error", "extensions", "host", "initial_sequence", "initiator_peer_id",
	"negotiated_capabilities", "nonce", "op", "opened_at", "payload", "peer_id",
	"peer_nonce", "protocol_version", "request_id", "responder_peer_id", "sequence",
	"session_id", "signature",
}

func fieldNamed(name []byte) (field, bool) {
	for f, known := range fieldNames {
		if string(name) == known {
			return field(f), true
		}
	}
	return 0, false
}

// fieldSet is a set of fields; bit f stands for field f.
type fieldSet uint32

func fields(list ...field) fieldSet {
	var set fieldSet
	for _, f := range list {
		set |= 1 << f
	}
	return set
}

func (s fieldSet) has(all fieldSet) bool { return s&all == all }

// The signed keys of each envelope of wire spec, section 3.
var (
	signedHello     = fields(fieldProtocolVersion, fieldPeerID, fieldNonce, fieldHost)
	signedHelloBack = signedHello | fields(fieldPeerNonce)
	signedSession   = fields(fieldSessionID, fieldInitiatorPeerID, fieldResponderPeerID,
		fieldOpenedAt, fieldNegotiatedCapabilities, fieldInitialSequence)
	correlation   = fields(fieldSessionID, fieldSequence, fieldRequestID)
	signedRequest = correlation | fields(fieldOp, fieldPayload)
	signedSuccess = correlation | fields(fieldPayload)
	signedFailure = correlation | fields(fieldError)

	// unsigned keys are allowed on every envelope.
	unsigned = fields(fieldExtensions, fieldSignature)
)

// envelope is a parsed frame: the spans of its top-level members. The zero envelope
// has none. It aliases the frame.
type envelope struct {
	values  [fieldCount]jcs.Member
	present fieldSet
	unknown bool // a member that no envelope has

	// What stands before the signature: signedEnd bytes of canonical text, -1 if it is
	// not canonical, which hold the members before.
	signedEnd int
	before    fieldSet

	// own is the frame if nobody else reads it: verify borrows one byte of it. Else nil.
	own []byte
}

// parseEnvelope judges a frame strictly and finds its members. A document that is no
// object is [jcs.ErrNotObject].
//
// Source: wire spec, section 1.
func parseEnvelope(e *envelope, frame []byte, depth int) error {
	return jcs.Split(frame, depth, e)
}

// Visit implements [jcs.Visitor].
func (e *envelope) Visit(name []byte, m jcs.Member, before int) {
	f, ok := fieldNamed(name)
	if !ok {
		e.unknown = true
		return
	}
	if f == fieldSignature && !e.unknown {
		e.signedEnd, e.before = before, e.present
	}
	e.set(f, m)
}

func (e *envelope) set(f field, m jcs.Member) {
	e.values[f] = m
	e.present |= 1 << f
}

// setText sets a member to a string. Text that is not UTF-8 is an error.
func (e *envelope) setText(f field, text string) error {
	quoted, err := jcs.AppendString(make([]byte, 0, len(text)+2), text)
	if err != nil {
		return fmt.Errorf("%s: %w", fieldNames[f], err)
	}
	e.set(f, jcs.Literal(quoted))
	return nil
}

// setNumber sets a member to a non-negative integer.
func (e *envelope) setNumber(f field, n uint64) {
	e.set(f, jcs.Literal(strconv.AppendUint(nil, n, 10)))
}

// text returns a member that is a string.
func (e *envelope) text(f field) (string, bool) { return e.values[f].Text() }

// textIs reports whether a member is the string want.
func (e *envelope) textIs(f field, want string) bool {
	text, ok := e.values[f].Bytes()
	return ok && string(text) == want
}

// bytesOf returns the text of a member that is a string, nil if it is none. It may alias
// the frame.
func (e *envelope) bytesOf(f field) []byte {
	text, _ := e.values[f].Bytes()
	return text
}

// textFits reports whether a member is a string of at most limit UTF-16 code units.
func (e *envelope) textFits(f field, limit int) bool {
	text, ok := e.values[f].Bytes()
	return ok && (len(text) <= limit || utf16Length(string(text)) <= limit)
}

// limitedText returns a member that is a string of at most limit UTF-16 code units.
func (e *envelope) limitedText(f field, limit int) (string, bool) {
	text, ok := e.text(f)
	return text, ok && utf16Length(text) <= limit
}

// maxSequence is 2^53−1, the largest sequence.
const maxSequence = 1<<53 - 1

// integer returns a member that is an integer from 0 to 2^53−1 by value: 1.0 is 1.
func (e *envelope) integer(f field) (uint64, bool) {
	return integer(&e.values[f])
}

// integer returns the member m as an integer from 0 to 2^53−1 by value.
func integer(m *jcs.Member) (uint64, bool) {
	if !shortNumber(m.Value) || m.Canonicalize() != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(string(m.Value), 10, 64)
	return n, err == nil && n <= maxSequence
}

// shortNumber reports whether text is a number that is worth reading: nothing else is
// made canonical before its signature is known to be good.
func shortNumber(text []byte) bool {
	const most = 32
	return len(text) > 0 && len(text) <= most && (text[0] == '-' || '0' <= text[0] && text[0] <= '9')
}

// signedSet returns the keys that the envelope's signature covers: those of shape,
// and auth on a request that carries it.
func (e *envelope) signedSet(shape fieldSet) fieldSet {
	if shape == signedRequest {
		shape |= e.present & fields(fieldAuth)
	}
	return shape
}

// appendSigned appends the canonical bytes of the members in set to dst: the text
// that the signature covers. Members become canonical on the way.
func (e *envelope) appendSigned(dst []byte, set fieldSet) ([]byte, error) {
	d := newDraft(dst)
	err := e.draft(&d, set)
	d.signed()
	return d.text, err
}

// draft writes the members in set. They become canonical on the way.
func (e *envelope) draft(d *draft, set fieldSet) error {
	for rest := set; rest != 0; rest &= rest - 1 {
		f := field(bits.TrailingZeros32(uint32(rest)))
		if err := e.values[f].Canonicalize(); err != nil {
			return err
		}
		d.json(f, e.values[f].Value)
	}
	return nil
}

// seal appends the signed envelope to dst: the canonical bytes of the members of
// shape, then the signature and empty extensions.
func (e *envelope) seal(dst []byte, shape fieldSet, id *Identity) ([]byte, error) {
	d := newDraft(dst)
	err := e.draft(&d, e.signedSet(shape))
	return d.seal(id), err
}

// verify checks the envelope's signature over the members of shape and returns the
// kind of the first failure, "" if there is none. It leaves the signed members
// canonical. The session binding is the caller's to check.
//
// Source: wire spec, section 3.
func (e *envelope) verify(shape fieldSet, key ed25519.PublicKey) string {
	text, ok := e.values[fieldSignature].Bytes()
	if !ok || len(text) == 0 {
		return spoke.KindEnvelopeAuthMissing
	}
	var signature [ed25519.SignatureSize]byte
	if !b64url.DecodeExactly(signature[:], text) {
		return spoke.KindEnvelopeAuthInvalid
	}
	set := e.signedSet(shape)
	if e.unknown || !e.present.has(set) || e.present&^(set|unsigned) != 0 {
		return spoke.KindEnvelopeAuthInvalid
	}
	if !e.signedBy(key, set, signature[:]) {
		return spoke.KindEnvelopeAuthInvalid
	}
	return ""
}

// signedBy reports whether signature is key's over the members in set. A frame that
// begins with just them, canonical, holds the signed text: its comma before the signature
// stands in the place of the last brace.
func (e *envelope) signedBy(key ed25519.PublicKey, set fieldSet, signature []byte) bool {
	if e.own != nil && e.signedEnd > 0 && e.before == set {
		text := e.own[:e.signedEnd+1]
		text[e.signedEnd] = '}'
		defer func() { text[e.signedEnd] = ',' }()
		return ed25519.Verify(key, text, signature)
	}
	buf := signBuffers.get()
	defer signBuffers.put(buf)
	var err error
	*buf, err = e.appendSigned((*buf)[:0], set)
	return err == nil && ed25519.Verify(key, *buf, signature)
}

// verifyBound is verify followed by the session binding.
func (e *envelope) verifyBound(shape fieldSet, key ed25519.PublicKey, sessionID string) string {
	if kind := e.verify(shape, key); kind != "" {
		return kind
	}
	if !e.textIs(fieldSessionID, sessionID) {
		return spoke.KindEnvelopeAuthSessionUnbound
	}
	return ""
}

// responseShape returns the shape that a response claims: failure when it has an
// error and no payload.
func (e *envelope) responseShape() fieldSet {
	if e.present.has(fields(fieldError)) && !e.present.has(fields(fieldPayload)) {
		return signedFailure
	}
	return signedSuccess
}

// utf16Length returns the length of text in UTF-16 code units, the characters of
// the wire spec's limits.
func utf16Length(text string) int {
	n := 0
	for _, r := range text {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// validText reports whether text can travel as a JSON string.
func validText(text string) bool { return utf8.ValidString(text) }

// String lists the fields' names.
func (s fieldSet) String() string {
	text := ""
	for rest := s; rest != 0; rest &= rest - 1 {
		if text != "" {
			text += ", "
		}
		text += fieldNames[bits.TrailingZeros32(uint32(rest))]
	}
	return text
}
