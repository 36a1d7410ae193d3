package connect

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/spoke"
)

// leakSeed returns the seed that the tests below look for in what is printed. It has
// no pattern that could stand somewhere else by chance.
func leakSeed() []byte {
	seed := sha256.Sum256([]byte("the identity under test"))
	return seed[:]
}

func TestIdentityVectors(t *testing.T) {
	v := vectorsOf[identityVectors](t, "identity.json")
	require.NotEmpty(t, v.Cases)
	for _, c := range v.Cases {
		t.Run("the seed of "+c.PeerID+" gives its key and its id", func(t *testing.T) {
			id, err := IdentityFromSeed(c.Seed)
			require.NoError(t, err)
			assert.Equal(t, []byte(c.Key), []byte(id.PublicKey()))
			assert.Equal(t, c.PeerID, string(id.PeerID()))

			same, err := IdentityFromKey(ed25519.NewKeyFromSeed(c.Seed))
			require.NoError(t, err)
			assert.Equal(t, id.PeerID(), same.PeerID())
		})
	}
}

func TestGeneratedIdentitiesDifferAndSign(t *testing.T) {
	a, err := GenerateIdentity()
	require.NoError(t, err)
	b, err := GenerateIdentity()
	require.NoError(t, err)
	assert.NotEqual(t, a.PeerID(), b.PeerID())
	message := []byte("message")
	assert.True(t, ed25519.Verify(a.PublicKey(), message, a.Sign(message)))
	assert.False(t, ed25519.Verify(b.PublicKey(), message, a.Sign(message)))
	key, err := a.PeerID().PublicKey()
	require.NoError(t, err)
	assert.Equal(t, a.PublicKey(), key)
}

func TestSeedsAndKeysOfTheWrongSizeAreRefused(t *testing.T) {
	for _, size := range []int{0, 1, 31, 33, 64} {
		id, err := IdentityFromSeed(make([]byte, size))
		require.ErrorContains(t, err, fmt.Sprintf("%d bytes, want 32", size))
		assert.Nil(t, id)
	}
	for _, size := range []int{0, 32, 63, 65, 96} {
		id, err := IdentityFromKey(make(ed25519.PrivateKey, size))
		require.ErrorContains(t, err, fmt.Sprintf("%d bytes, want 64", size))
		assert.Nil(t, id)
	}
	_, err := IdentityFromSeed(nil)
	require.Error(t, err)
	_, err = IdentityFromKey(nil)
	require.Error(t, err)
}

// mismatchedKey is a private key with the public half of another one. Signing with
// such a key can give the seed's scalar away.
func mismatchedKey() ed25519.PrivateKey {
	other := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)).Public().(ed25519.PublicKey)
	return append(append(ed25519.PrivateKey{}, leakSeed()...), other...)
}

func TestAKeyWithAnothersPublicHalfIsRefused(t *testing.T) {
	id, err := IdentityFromKey(mismatchedKey())
	require.ErrorContains(t, err, "public half")
	assert.Nil(t, id)
	assertNoSecret(t, err.Error())

	key := ed25519.NewKeyFromSeed(leakSeed())
	for _, at := range []int{0, 31, 32, 63} {
		flipped := bytes.Clone(key)
		flipped[at] ^= 1
		_, err := IdentityFromKey(flipped)
		require.Error(t, err, "bit of byte %d", at)
	}
}

func TestAnIdentityDoesNotShareMemoryWithItsCallers(t *testing.T) {
	seed := leakSeed()
	key := ed25519.NewKeyFromSeed(seed)
	fromSeed := identityOfSeed(t, seed)
	fromKey, err := IdentityFromKey(key)
	require.NoError(t, err)
	want := fromSeed.Sign([]byte("m"))
	clear(seed)
	clear(key)
	clear(fromSeed.PublicKey())
	for _, id := range []*Identity{fromSeed, fromKey} {
		assert.Equal(t, want, id.Sign([]byte("m")))
		assert.True(t, ed25519.Verify(id.PublicKey(), []byte("m"), want))
	}
}

func TestAnIdentityIsSafeForConcurrentUse(t *testing.T) {
	id := identityOfSeed(t, leakSeed())
	want := id.Sign([]byte("m"))
	var users sync.WaitGroup
	for range 8 {
		users.Go(func() {
			assert.Equal(t, want, id.Sign([]byte("m")))
			assert.NotEmpty(t, id.PublicKey())
			assert.NotEmpty(t, fmt.Sprintf("%v %+v", id, *id))
		})
	}
	users.Wait()
}

func TestAnIdentityPrintsAsItsPeerID(t *testing.T) {
	id := identityOfSeed(t, leakSeed())
	peer := string(id.PeerID())
	for _, verb := range verbs {
		assert.Equal(t, peer, fmt.Sprintf(verb, id), "verb %s", verb)
	}
	assert.Equal(t, `{"Identity":"`+peer+`"}`, string(mustJSON(t, struct{ Identity *Identity }{id})))
	assert.Equal(t, `null`, string(mustJSON(t, (*Identity)(nil))))
	assert.Contains(t, fmt.Sprintf("%+v", Config{Identity: id}), "Identity:"+peer)

	var text bytes.Buffer
	slog.New(slog.NewTextHandler(&text, nil)).Info("m", "id", id)
	assert.Contains(t, text.String(), "id="+peer)
}

func TestNoIdentityCanBePrinted(t *testing.T) {
	var id *Identity
	for _, verb := range verbs {
		assert.Equal(t, "no identity", fmt.Sprintf(verb, id), "verb %s", verb)
	}
	assert.Equal(t, "no identity", id.LogValue().String())
	assert.NotPanics(t, func() { _ = fmt.Sprintf("%+v %#v", Config{}, DialConfig{}) })
}

// verbs are the verbs and flags by which fmt prints bytes.
var verbs = []string{
	"%v", "%+v", "%#v", "%s", "%q", "%+q", "%#q", "%x", "%X", "% x", "%#x", "%# x", "% X",
	"%d", "%o", "%O", "%b", "%c", "%U", "%#U", "%e", "%g", "%t", "%5.1v", "%z",
}

// formsOf returns the texts by which printing or encoding can show bytes.
func formsOf(b []byte) []string {
	forms := []string{
		base64.StdEncoding.EncodeToString(b), base64.URLEncoding.EncodeToString(b),
		strings.ReplaceAll(strings.Trim(fmt.Sprint(b), "[]"), " ", ","),
		strings.ReplaceAll(strings.Trim(fmt.Sprint(b), "[]"), " ", ", "),
		strings.ReplaceAll(fmt.Sprintf("% x", b), " ", ":"),
		strings.ReplaceAll(fmt.Sprintf("%# x", b), " ", ", "),
		strings.Trim(fmt.Sprintf("%#v", b), "[]byte{}"), // without leading zeros, unlike the line above
	}
	for _, verb := range []string{"%q", "%+q", "%d", "%o", "%b", "%08b", "%c", "%U"} {
		form := fmt.Sprintf(verb, b)
		forms = append(forms, form[1:len(form)-1])
	}
	for _, verb := range []string{"%s", "%x", "%X", "% x", "% X", "%# x"} {
		forms = append(forms, fmt.Sprintf(verb, b))
	}
	return forms
}

// secretForms are the forms of every six bytes in a row of the seed. Six bytes are
// eight characters of base64, so every alignment is covered.
var secretForms = sync.OnceValue(func() []string {
	const window = 6
	var forms []string
	seed := leakSeed()
	for i := range len(seed) - window + 1 {
		forms = append(forms, formsOf(seed[i:i+window])...)
	}
	return forms
})

// showsSecret reports whether text shows a part of the seed.
func showsSecret(text string) bool {
	for _, form := range secretForms() {
		if len(form) < 6 {
			panic("a form that is too short to mean anything")
		}
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

func assertNoSecret(t testing.TB, text string) {
	t.Helper()
	if showsSecret(text) {
		t.Error("private key bytes were printed") // not the text: it would print them again
	}
}

// failures records what an assertion prints.
type failures struct{ text strings.Builder }

func (f *failures) Errorf(format string, args ...any) { fmt.Fprintf(&f.text, format, args...) }

// printed returns what the usual ways of printing and encoding make of v. Other is a
// value of the same type, to compare with.
func printed(v, other any) map[string]string {
	outputs := make(map[string]string)
	for _, verb := range verbs {
		outputs[verb] = fmt.Sprintf(verb, v)
		outputs["a slice with "+verb] = fmt.Sprintf(verb, []any{v})
	}
	outputs["fmt.Sprintln"] = fmt.Sprintln(v)
	outputs["fmt.Errorf"] = fmt.Errorf("failed: %v", v).Error()

	var buf bytes.Buffer
	take := func(name string, err error) {
		outputs[name] = fmt.Sprint(buf.String(), err)
		buf.Reset()
	}
	take("json", json.NewEncoder(&buf).Encode(v))
	take("xml", xml.NewEncoder(&buf).Encode(v))
	take("gob", gob.NewEncoder(&buf).Encode(v))
	log.New(&buf, "", 0).Println(v)
	take("log", nil)
	for name, handler := range map[string]slog.Handler{
		"slog text": slog.NewTextHandler(&buf, nil), "slog json": slog.NewJSONHandler(&buf, nil),
	} {
		logger := slog.New(handler)
		logger.Info("m", "v", v, slog.Group("g", "v", v))
		logger.With("v", v).Info(fmt.Sprint(v))
		take(name, nil)
	}

	var diff failures
	assert.Equal(&diff, v, other)
	assert.EqualExportedValues(&diff, v, other)
	assert.Nil(&diff, v)
	assert.ElementsMatch(&diff, []any{v}, []any{other})
	assert.Contains(&diff, []any{other}, v)
	outputs["testify"] = diff.text.String()
	return outputs
}

func TestTheSearchForSecretsFindsThem(t *testing.T) {
	type leaky struct {
		Key    ed25519.PrivateKey
		hidden []byte
	}
	key := ed25519.NewKeyFromSeed(leakSeed())
	leak, other := leaky{key, key.Seed()}, leaky{Key: make([]byte, 64)}
	outputs := printed(leak, other)
	for _, name := range []string{
		"%v", "%+v", "%#v", "%s", "%q", "%+q", "%x", "%X", "% x", "%# x", "%d", "%o", "%b", "%c", "%U",
		"json", "gob", "log", "slog text", "slog json", "testify",
	} {
		assert.True(t, showsSecret(outputs[name]), name)
	}
	assert.True(t, showsSecret(fmt.Sprintf("% x", [32]byte(leakSeed()))))
	assert.True(t, showsSecret(fmt.Sprintf("%#v", [32]byte(leakSeed()))))
	for alignment := range 3 {
		padded := append(make([]byte, alignment), leakSeed()...)
		assert.True(t, showsSecret(base64.StdEncoding.EncodeToString(padded)))
		assert.True(t, showsSecret(base64.RawURLEncoding.EncodeToString(padded)))
	}
	assert.False(t, showsSecret(fmt.Sprint(key.Public(), sha256.Sum256(leakSeed()))))
	assert.True(t, reachesSecret(leak))
	assert.True(t, reachesSecret(&struct{ deep map[string]any }{map[string]any{"x": []any{&leak}}}))
	assert.True(t, reachesSecret(struct{ text string }{"key " + string(leakSeed())}))
	assert.False(t, reachesSecret(other))
}

// reachesSecret walks all that reflection can reach from v, unexported fields
// included, and reports whether a part of the seed is there.
func reachesSecret(v any) bool {
	w := walker{seen: map[any]bool{}}
	w.walk(reflect.ValueOf(v))
	return w.found
}

type walker struct {
	seen  map[any]bool
	found bool
}

func (w *walker) bytes(b []byte) {
	seed := leakSeed()
	for i := 0; i+8 <= len(seed); i++ {
		w.found = w.found || bytes.Contains(b, seed[i:i+8])
	}
}

func (w *walker) walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		w.bytes([]byte(v.String()))
	case reflect.Interface:
		w.walk(v.Elem())
	case reflect.Pointer:
		at := [2]any{v.Pointer(), v.Type()}
		if !w.seen[at] {
			w.seen[at] = true
			w.walk(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			w.walk(v.Field(i))
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			w.walk(it.Key())
			w.walk(it.Value())
		}
	case reflect.Slice, reflect.Array:
		w.list(v)
	}
}

func (w *walker) list(v reflect.Value) {
	if v.Type().Elem().Kind() != reflect.Uint8 {
		for i := range v.Len() {
			w.walk(v.Index(i))
		}
		return
	}
	b := make([]byte, v.Len())
	for i := range b {
		b[i] = byte(v.Index(i).Uint())
	}
	w.bytes(b)
}

// closedSession returns a session of id's that has ended, so that nothing writes to
// it while it is printed.
func closedSession(t testing.TB, id, peer *Identity) *Session {
	t.Helper()
	a, b := Pipe()
	accepted := make(chan *Responder, 1)
	go func() {
		r, err := Accept(context.Background(), b, ResponderConfig{Config: plainConfig(peer, id, "host")})
		assert.NoError(t, err)
		accepted <- r
	}()
	adapter, err := Dial(t.Context(), a, DialConfig{Config: plainConfig(id, peer, "app"), RemoteKey: peer.PublicKey()})
	require.NoError(t, err)
	responder := <-accepted
	for _, s := range []*Session{adapter.Session, responder.Session} {
		s.Close()
	}
	for _, s := range []*Session{adapter.Session, responder.Session} {
		_ = s.Wait()
	}
	return adapter.Session
}

// forgetful takes every nonce. Testify cannot print a [MemoryNonceStore] with two
// entries inside a private field: its sort of array keys panics.
type forgetful struct{}

func (forgetful) Accept(PeerID, string) (bool, error) { return true, nil }

func plainConfig(id, peer *Identity, label string) Config {
	return Config{
		Identity: id,
		Allow:    []PeerID{peer.PeerID()},
		Nonces:   forgetful{},
		Manifest: spoke.HostCapabilityManifest{
			SchemaVersion: 1,
			HostID:        label,
			Roles:         []string{"input-source"},
			Capabilities:  []string{CapabilityBaseline},
			Namespaces:    []string{"test"},
		},
	}
}

func TestNothingPrintsThePrivateKey(t *testing.T) {
	id, stranger := identityOfSeed(t, leakSeed()), identityOfSeed(t, make([]byte, 32))
	session := closedSession(t, id, stranger)
	config := plainConfig(id, stranger, "app")
	type holder struct {
		hidden  *Identity
		byValue Identity
	}
	for name, pair := range map[string][2]any{
		"an identity":               {id, stranger},
		"a dereferenced identity":   {*id, *stranger},
		"a list of identities":      {[]*Identity{id}, []*Identity{stranger}},
		"a list of values":          {[]Identity{*id}, []Identity{*stranger}},
		"a map of identities":       {map[string]*Identity{"k": id}, map[string]*Identity{"k": stranger}},
		"unexported fields":         {holder{id, *id}, holder{stranger, *stranger}},
		"a pointer to such a value": {&holder{id, *id}, &holder{stranger, *stranger}},
		"a config":                  {config, Config{Identity: stranger}},
		"a pointer to a config":     {&config, &Config{Identity: stranger}},
		"a dial config":             {DialConfig{Config: config, RemoteKey: stranger.PublicKey()}, DialConfig{}},
		"a responder config":        {ResponderConfig{Config: config}, ResponderConfig{}},
		"a session's config":        {session.ep.Config, Config{Identity: stranger}},
		"a session's endpoint":      {session.ep, &endpoint{}},
		"a session":                 {session, &Session{}},
		"a remote adapter":          {&RemoteAdapter{Session: session, Ports: NewPorts(session)}, &RemoteAdapter{}},
	} {
		t.Run(name, func(t *testing.T) {
			for way, text := range printed(pair[0], pair[1]) {
				t.Run(way, func(t *testing.T) { assertNoSecret(t, text) })
			}
			assert.False(t, reachesSecret(pair[0]), "reflection reaches the key")
		})
	}
}

func TestAnIdentitysErrorsAndPanicsShowNoKey(t *testing.T) {
	id := identityOfSeed(t, leakSeed())
	_, err := id.SignEnvelope(RequestEnvelope, json.RawMessage(`{}`))
	require.Error(t, err)
	assertNoSecret(t, fmt.Sprintf("%+v %#v", err, err))
	_, err = id.MarshalOpenSSH("comment\nwith a break", nil)
	assertNoSecret(t, fmt.Sprint(err))
}
