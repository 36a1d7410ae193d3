package wiretap_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/cmd/spoke/internal/wiretap"
	"github.com/spoke-peer/spoke-go/connect"
)

func hello(t *testing.T) (*connect.Identity, []byte) {
	t.Helper()
	id, err := connect.GenerateIdentity()
	require.NoError(t, err)
	text, err := id.SignEnvelope(connect.HelloEnvelope, []byte(`{"protocol_version":1,"peer_id":"`+
		string(id.PeerID())+`","nonce":"0123456789abcdef","host":{}}`))
	require.NoError(t, err)
	return id, text
}

func TestATapShowsBothDirectionsWithTheVerdict(t *testing.T) {
	near, far := connect.Pipe()
	var shown []wiretap.Frame
	tap := wiretap.New(near, false, func(f wiretap.Frame) { shown = append(shown, f) })
	id, valid := hello(t)
	require.NoError(t, far.Send(t.Context(), valid))
	require.NoError(t, far.Send(t.Context(), bytes.Replace(valid, []byte("abcdef"), []byte("fedcba"), 1)))
	for range 2 {
		_, err := tap.Recv(t.Context())
		require.NoError(t, err)
	}
	require.NoError(t, tap.Send(t.Context(), []byte(`{"n":1}`)))
	require.Len(t, shown, 3)
	assert.Equal(t, "hello", shown[0].Name)
	assert.True(t, shown[0].Signed)
	assert.False(t, shown[0].Out)
	assert.False(t, shown[1].Signed)
	assert.NotEmpty(t, shown[1].Problem)
	assert.True(t, shown[2].Out)
	assert.Equal(t, `{"n":1}`, string(shown[2].Text))
	assert.Equal(t, id.PeerID(), tap.Met())
	near.Close()
	_, err := tap.Recv(t.Context())
	assert.Error(t, err)
}

// courteous notes how it was ended.
type courteous struct {
	connect.Transport
	ended []string
}

func (c *courteous) Finish() error   { c.ended = append(c.ended, "finish"); return nil }
func (c *courteous) Postpone() error { c.ended = append(c.ended, "postpone"); return nil }
func (c *courteous) Close() error    { c.ended = append(c.ended, "close"); return nil }

func TestATapEndsAsItsTransportDoes(t *testing.T) {
	c := new(courteous)
	tap := wiretap.New(c, true, nil)
	require.NoError(t, errors.Join(tap.Finish(), tap.Postpone(), tap.Close()))
	assert.Equal(t, []string{"finish", "postpone", "close"}, c.ended)
	for _, end := range []func(*wiretap.Tap) error{(*wiretap.Tap).Finish, (*wiretap.Tap).Postpone} {
		near, far := connect.Pipe()
		require.NoError(t, end(wiretap.New(near, true, nil)))
		_, err := far.Recv(t.Context())
		assert.ErrorIs(t, err, io.EOF)
	}
}
