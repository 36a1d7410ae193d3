package ws

import (
	"crypto/tls"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAConnectionThatIsClosedWritesWhatWaitsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := newScripted()
		conn.held = open
		c := newBatchConn(conn)
		c.out.begun = true
		_, err := c.Write([]byte("last words"))
		require.NoError(t, err)
		require.NoError(t, c.Close())
		assert.Equal(t, []string{"last words"}, conn.written())
		assert.Same(t, conn, c.NetConn())
		c.out.stop()
	})
}

func TestWhatIsClosedLiesBelowTLS(t *testing.T) {
	conn, o := newScripted(), new(outbox)
	o.init(tls.Server(conn, nil))
	assert.Same(t, conn, o.socket, "to close TLS is to write, which a peer that does not read holds up")
}

func TestLayersAreFound(t *testing.T) {
	conn := newScripted()
	batch := newBatchConn(conn)
	for name, layers := range map[string]net.Conn{
		"without TLS": batch, "a dialer's TLS, above": tls.Client(batch, nil),
		"a server's TLS, below": newBatchConn(tls.Server(conn, nil)),
	} {
		assert.Same(t, conn, socketOf(layers), name)
		assert.NotNil(t, batchConnOf(layers), name)
	}
	assert.Same(t, conn, socketOf(tls.Server(conn, nil)))
	assert.Nil(t, batchConnOf(tls.Server(conn, nil)))
}

func TestADeadlineForBothIsOneForWritesToo(t *testing.T) {
	conn := newScripted()
	conn.held = open
	c := newBatchConn(conn)
	soon := time.Now().Add(time.Second)
	require.NoError(t, c.SetDeadline(soon))
	_, err := c.Write([]byte("GET / HTTP/1.1"))
	require.NoError(t, err)
	assert.Equal(t, []time.Time{soon}, conn.deadlines)
	assert.Equal(t, soon, conn.readDeadline)
}
