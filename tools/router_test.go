package tools_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

const (
	louderID = "tools.test.louder"
	longerID = "tools.test.longer"
)

// routedTools holds sessions with two peers, one tool each, and returns a router over
// them.
func routedTools(t testing.TB) (*connect.Router, func()) {
	t.Helper()
	louder := open(t, tools.New(louderID, "Say it louder.", func(_ context.Context, in saying) (saying, error) {
		return saying{strings.ToUpper(in.Text)}, nil
	}))
	longer := open(t, tools.New(longerID, "Say it twice.", func(_ context.Context, in saying) (saying, error) {
		return saying{in.Text + in.Text}, nil
	}))
	router := connect.NewRouter(connect.RouterConfig{})
	// The one peer dialed, the other was dialed.
	app, host := joined(t, side{louder, nil}, side{open(t), []string{louderID}})
	far, near := joined(t, side{open(t), []string{longerID}}, side{longer, nil})
	require.NoError(t, router.Register(host))
	require.NoError(t, router.Register(far))
	return router, func() { closeBoth(app, host); closeBoth(far, near) }
}

type saying struct {
	Text string `json:"text"`
}

func TestARouterWorksWhereASessionDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		router, done := routedTools(t)
		defer done()

		got, err := tools.Call[saying, saying](t.Context(), router, louderID, saying{"ho"})
		require.NoError(t, err)
		assert.Equal(t, "HO", got.Text)

		raw, err := tools.Orchestrate(t.Context(), router, longerID, saying{"ho"})
		require.NoError(t, err)
		assert.JSONEq(t, `{"text":"hoho"}`, string(raw))

		results, err := tools.Batch(t.Context(), router, []tools.BatchCall{
			{ID: "tools.test.nobody"}, {ID: louderID, Args: saying{"a"}}, {ID: longerID, Args: saying{"b"}},
		}, tools.ContinueOnError)
		require.NoError(t, err)
		require.Len(t, results, 3)
		assert.Equal(t, spoke.KindNoCapablePeer, spoke.KindOf(results[0].Err))
		assert.JSONEq(t, `{"text":"A"}`, string(results[1].Result))
		assert.JSONEq(t, `{"text":"bb"}`, string(results[2].Result))

		catalog := tools.Discover(router.GetHostCapabilityManifest(), nil)
		require.Len(t, catalog.List(), 2)
		checked, err := catalog.Checked(router, louderID)
		require.NoError(t, err)
		_, err = checked.InvokeTool(t.Context(), louderID, map[string]int{"text": 1})
		assert.Equal(t, spoke.CodeInvalidInput, spoke.CodeOf(err))
		_, err = checked.InvokeTool(t.Context(), louderID, saying{"a"})
		assert.NoError(t, err)
	})
}
