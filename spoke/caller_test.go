package spoke_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/spoke-peer/spoke-go/spoke"
)

func TestAContextWithoutACallerHasNone(t *testing.T) {
	c, ok := spoke.CallerFromContext(t.Context())
	assert.False(t, ok)
	assert.Zero(t, c)
}

func ExampleCallerFromContext() {
	handler := func(ctx context.Context) {
		if caller, ok := spoke.CallerFromContext(ctx); ok {
			fmt.Println("called by", caller.PeerID)
		}
	}
	handler(spoke.WithCaller(context.Background(), spoke.Caller{PeerID: "12D3KooWPeer", SessionID: "s"}))
	// Output: called by 12D3KooWPeer
}
