package connect_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
)

func TestAChallengeHasTheShapeOfTheSpec(t *testing.T) {
	withHost(t, trusting(true), func(t *testing.T, p *wirePeer) {
		challenge := p.recv()
		assert.Len(t, challenge, 4)
		assert.Equal(t, object{}, challenge["extensions"])
		assert.NotEmpty(t, challenge["challenge_id"])
		assert.GreaterOrEqual(t, len(challenge["challenge"].(string)), 16)
	})
}

func TestTheAnswerToAChallengeHoldsForTheSession(t *testing.T) {
	withHost(t, trusting(true), func(t *testing.T, p *wirePeer) {
		p.present(p.recv(), liveToken(t, nil))
		for range 3 {
			assert.Equal(t, served, answered(p.askPlain(echoTool)))
			assert.Equal(t, denied, answered(p.askPlain(otherTool)), "it narrows")
		}
		other := liveToken(t, object{"capabilities": []string{otherTool}})
		assert.Equal(t, served, answered(p.askWith(other, otherTool)), "a token of the request's own counts before it")
		assert.Equal(t, denied, answered(p.askWith(other, echoTool)), "and alone")
		assert.Equal(t, tokenFailed, answered(p.askWith("x", echoTool)), "also when it is no good")
	})
}

func TestAnAnswerThatIsNotToThisChallengeIsIgnored(t *testing.T) {
	for name, change := range map[string]func(doc object){
		"another challenge":     func(doc object) { doc["challenge_id"] = "another" },
		"a number for an id":    func(doc object) { doc["challenge_id"] = 7 },
		"another method":        func(doc object) { doc["method"] = "noise-peerid" },
		"a member too many":     func(doc object) { doc["x"] = 1 },
		"a member too few":      func(doc object) { delete(doc, "extensions") },
		"extensions in a list":  func(doc object) { doc["extensions"] = []any{} },
		"a challenge, no proof": func(doc object) { delete(doc, "proof"); doc["challenge"] = "0123456789abcdef" },
	} {
		t.Run(name, func(t *testing.T) {
			withHost(t, trusting(true), func(t *testing.T, p *wirePeer) {
				challenge := p.recv()
				doc := object{"challenge_id": challenge["challenge_id"], "method": "capability-token", "proof": liveToken(t, nil), "extensions": object{}}
				change(doc)
				p.sendObject(doc)
				assert.Equal(t, tokenFailed, answered(p.askPlain(echoTool)))
				p.present(challenge, liveToken(t, nil))
				assert.Equal(t, served, answered(p.askPlain(echoTool)), "the challenge still waits for its answer")
			})
		})
	}
}

func TestTheFirstAnswerToAChallengeIsTheLast(t *testing.T) {
	withHost(t, trusting(true), func(t *testing.T, p *wirePeer) {
		challenge := p.recv()
		p.present(challenge, liveToken(t, object{"aud": strangerID.PeerID()}))
		p.present(challenge, liveToken(t, nil))
		assert.Equal(t, tokenFailed, answered(p.askPlain(echoTool)))
	})
}

func TestAHostThatRequiresNoTokenAsksForNone(t *testing.T) {
	withHost(t, trusting(false), func(t *testing.T, p *wirePeer) {
		p.requireWorks() // its answer is the first frame
		p.present(object{"challenge_id": "c", "method": "capability-token"}, liveToken(t, object{"capabilities": []string{}}))
		p.requireWorks() // an answer that nobody asked for changes nothing
	})
}

// challengeOf returns a challenge, changed.
func challengeOf(changes object) object {
	doc := object{"challenge_id": "c1", "method": "capability-token", "challenge": "0123456789abcdef", "extensions": object{}}
	for name, value := range changes {
		if doc[name] = value; value == nil {
			delete(doc, name)
		}
	}
	return doc
}

func TestADialerAnswersAChallengeOnce(t *testing.T) {
	withApp(t, func(t *testing.T) connect.DialConfig { return dialToken(t) }, func(t *testing.T, s *connect.Session, p *wirePeer) {
		p.sendObject(challengeOf(nil))
		answer := p.recv()
		assert.Len(t, answer, 4)
		assert.Equal(t, "c1", answer["challenge_id"])
		assert.Equal(t, "capability-token", answer["method"])
		assert.Equal(t, object{}, answer["extensions"])
		proof, err := json.Marshal(answer["proof"])
		require.NoError(t, err)
		check := hostCheck()
		check.Now = time.Time{}
		_, err = connect.VerifyToken(proof, check)
		require.NoError(t, err)
		p.sendObject(challengeOf(object{"challenge_id": "c2"}))
		synctest.Wait()
		p.requireWorks() // the next frame is an answer to this request
	})
}

func TestWhatIsNoChallengeIsNotAnswered(t *testing.T) {
	for name, changes := range map[string]object{
		"no id":                  {"challenge_id": nil},
		"an empty id":            {"challenge_id": ""},
		"a long id":              {"challenge_id": string(bytes.Repeat([]byte("x"), 129))},
		"another method":         {"method": "noise-peerid"},
		"no method":              {"method": nil},
		"a short challenge":      {"challenge": "0123456789abcde"},
		"a long challenge":       {"challenge": string(bytes.Repeat([]byte("x"), 129))},
		"a challenge of numbers": {"challenge": 1234567890123456},
		"no extensions":          {"extensions": nil},
		"a member too many":      {"x": 1},
	} {
		t.Run(name, func(t *testing.T) {
			withApp(t, func(t *testing.T) connect.DialConfig { return dialToken(t) }, func(t *testing.T, s *connect.Session, p *wirePeer) {
				p.sendObject(challengeOf(changes))
				synctest.Wait()
				p.requireWorks()
				p.sendObject(challengeOf(nil))
				assert.Equal(t, "c1", p.recv()["challenge_id"], "a challenge is still answered")
			})
		})
	}
}

func TestADialerWithoutATokenAnswersNoChallenge(t *testing.T) {
	withApp(t, func(*testing.T) connect.DialConfig { return dialConfig() }, func(t *testing.T, s *connect.Session, p *wirePeer) {
		p.sendObject(challengeOf(nil))
		synctest.Wait()
		p.requireWorks()
	})
}
