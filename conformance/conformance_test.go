package conformance

import (
	"os"
	"testing"

	"github.com/spoke-peer/spoke-go/conformance/vectors"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheLibraryDoesWhatTheEmbeddedVectorsSay(t *testing.T) {
	report := Run(t.Context(), vectors.Files(), Options{})
	require.NoError(t, report.WriteText(os.Stdout))
	require.True(t, report.OK)
}
