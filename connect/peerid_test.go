package connect

import (
	"bytes"
	"crypto/ed25519"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPeerIDVectors(t *testing.T) {
	v := vectorsOf[identityVectors](t, "identity.json")
	require.NotEmpty(t, v.Cases)
	for _, c := range v.Cases {
		t.Run(c.PeerID+" is the id of its key and contains it", func(t *testing.T) {
			id, err := NewPeerID(ed25519.PublicKey(c.Key))
			require.NoError(t, err)
			assert.Equal(t, c.PeerID, string(id))
			parsed, err := ParsePeerID(c.PeerID)
			require.NoError(t, err)
			assert.Equal(t, id, parsed)
			key, err := parsed.PublicKey()
			require.NoError(t, err)
			assert.Equal(t, []byte(c.Key), []byte(key))
		})
	}
}

func TestTextThatIsNoPeerIDIsRefused(t *testing.T) {
	v := vectorsOf[identityVectors](t, "identity.json")
	require.NotEmpty(t, v.NotPeerIDs)
	good := v.Cases[0].PeerID
	texts := []string{
		good + " ", "\t" + good, good + "\x00", good + good, strings.ToUpper(good),
		"1" + good[2:], "é" + good[1:], good[:20] + "\u0663" + good[21:], "\xff\xfe",
		strings.Repeat("1", 38), strings.Repeat("z", 52), strings.Repeat("1", 128),
	}
	for _, c := range v.NotPeerIDs {
		texts = append(texts, c.PeerID)
	}
	for _, text := range texts {
		id, err := ParsePeerID(text)
		assert.Error(t, err, "%q", text)
		assert.Empty(t, id, "%q", text)
		key, err := PeerID(text).PublicKey()
		assert.Error(t, err, "%q", text)
		assert.Nil(t, key, "%q", text)
	}
}

func TestAPeerIDOfAnotherKindOfKeyIsRefused(t *testing.T) {
	key := bytes.Repeat([]byte{7}, ed25519.PublicKeySize)
	for name, raw := range map[string][]byte{
		"a secp256k1 key":            append([]byte{0x00, 0x24, 0x08, 0x02, 0x12, 0x20}, key...),
		"a sha2-256 multihash":       append([]byte{0x12, 0x20}, key...),
		"a key of 31 bytes":          append([]byte{0x00, 0x24, 0x08, 0x01, 0x12, 0x20}, key[:31]...),
		"a key of 33 bytes":          append(append([]byte{0x00, 0x24, 0x08, 0x01, 0x12, 0x20}, key...), 0),
		"a header without a key":     {0x00, 0x24, 0x08, 0x01, 0x12, 0x20},
		"a key without a header":     key,
		"a header of another length": append([]byte{0x00, 0x25, 0x08, 0x01, 0x12, 0x20}, key...),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParsePeerID(base58Of(raw))
			require.Error(t, err)
		})
	}
	_, err := ParsePeerID(base58Of(append(bytes.Clone(peerIDPrefix), key...)))
	require.NoError(t, err, "the same way of encoding makes good ids")
}

// A long text is refused by its length alone: the error does not repeat it.
func TestALongTextIsNotDecoded(t *testing.T) {
	text := strings.Repeat("2", maxPeerIDLength+1)
	_, err := ParsePeerID(text)
	require.Error(t, err)
	assert.NotContains(t, err.Error(), text[:8])
	assert.Contains(t, err.Error(), "129")
	_, err = ParsePeerID(text[:maxPeerIDLength])
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "at most")
}

func TestAPublicKeyOfTheWrongSizeHasNoPeerID(t *testing.T) {
	for _, size := range []int{0, 1, 31, 33, 64} {
		id, err := NewPeerID(make(ed25519.PublicKey, size))
		assert.Error(t, err, "%d bytes", size)
		assert.Empty(t, id)
	}
	_, err := NewPeerID(nil)
	assert.Error(t, err)
}

func TestThePeerIDOfUnusualKeys(t *testing.T) {
	for _, key := range [][]byte{
		make([]byte, 32),
		bytes.Repeat([]byte{0xff}, 32),
		append(make([]byte, 31), 1),
		append([]byte{1}, make([]byte, 31)...),
		append([]byte{0, 0, 0, 0xff}, bytes.Repeat([]byte{0x80}, 28)...),
	} {
		id, err := NewPeerID(key)
		require.NoError(t, err)
		assert.Equal(t, base58Of(append(bytes.Clone(peerIDPrefix), key...)), string(id))
		assert.Len(t, string(id), 52)
		assert.True(t, strings.HasPrefix(string(id), "12D3KooW"), "%s", id)
		back, err := id.PublicKey()
		require.NoError(t, err)
		assert.Equal(t, key, []byte(back))
	}
}

func TestTheKeyOfAPeerIDBelongsToTheCaller(t *testing.T) {
	id := identityOfSeed(t, leakSeed())
	key, err := id.PeerID().PublicKey()
	require.NoError(t, err)
	clear(key)
	again, err := id.PeerID().PublicKey()
	require.NoError(t, err)
	assert.Equal(t, id.PublicKey(), again)
}

// base58Of is base58btc by long division, independent of the library in use.
func base58Of(raw []byte) string {
	const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	n, base, digit := new(big.Int).SetBytes(raw), big.NewInt(58), new(big.Int)
	var text []byte
	for n.Sign() > 0 {
		n.DivMod(n, base, digit)
		text = append([]byte{alphabet[digit.Int64()]}, text...)
	}
	zeros := len(raw) - len(bytes.TrimLeft(raw, "\x00"))
	return strings.Repeat("1", zeros) + string(text)
}
