package connect

import (
	"encoding/json"
	"time"

	"github.com/spoke-peer/spoke-go/internal/jcs"
)

// proof is a token that has the right shape and that nobody verified.
type proof struct {
	version   uint64
	claims    TokenClaims
	emptyID   bool   // jti is there and empty
	signed    []byte // the canonical claims, as they came
	signature string
}

// parseProof judges the shape of a token: its exact members, each of its type.
//
// Source: wire spec, section 8.
func parseProof(document []byte) (*proof, bool) {
	m, ok := exactMembers(document, []string{memberVersion, memberClaims, memberSig}, nil)
	if !ok {
		return nil, false
	}
	version, claims := m[memberVersion], m[memberClaims]
	p := new(proof)
	var numberOK, textOK, claimsOK bool
	p.version, numberOK = integer(&version)
	p.signature, textOK = m[memberSig].Text()
	p.claims, p.emptyID, claimsOK = parseClaims(claims.Value)
	if !numberOK || !textOK || !claimsOK || claims.Canonicalize() != nil {
		return nil, false
	}
	p.signed = claims.Value
	return p, true
}

// parseClaims judges the shape of a token's claims.
func parseClaims(document []byte) (claims TokenClaims, emptyID, ok bool) {
	m, ok := exactMembers(document,
		[]string{memberIssuer, memberSubject, memberAudience, memberCapabilities, memberExpires},
		[]string{memberIssuedAt, memberTokenID})
	if !ok {
		return TokenClaims{}, false, false
	}
	for _, step := range []bool{
		peerText(m, memberIssuer, &claims.Issuer),
		peerText(m, memberSubject, &claims.Subject),
		peerText(m, memberAudience, &claims.Audience),
		textList(m[memberCapabilities].Value, &claims.Capabilities),
		seconds(m, memberExpires, &claims.Expires),
		seconds(m, memberIssuedAt, &claims.IssuedAt),
	} {
		ok = ok && step
	}
	if id, has := m[memberTokenID]; has {
		text, isText := id.Text()
		claims.ID, emptyID, ok = text, text == "", ok && isText
	}
	return claims, emptyID, ok
}

func peerText(m map[string]jcs.Member, name string, to *PeerID) bool {
	text, ok := m[name].Text()
	*to = PeerID(text)
	return ok
}

// seconds reads a time; an absent one stays zero.
func seconds(m map[string]jcs.Member, name string, to *time.Time) bool {
	member, has := m[name]
	if !has {
		return true
	}
	n, ok := integer(&member)
	*to = time.Unix(int64(n), 0)
	return ok
}

// textList reads a list of strings, which may be empty.
func textList(raw json.RawMessage, to *[]string) bool {
	var texts []*string
	if json.Unmarshal(raw, &texts) != nil || texts == nil {
		return false
	}
	*to = make([]string, 0, len(texts))
	for _, text := range texts {
		if text == nil {
			return false
		}
		*to = append(*to, *text)
	}
	return true
}
