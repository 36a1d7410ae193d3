package conformance_test

import (
	"context"
	"fmt"
	"os"
	"testing/fstest"

	"github.com/spoke-peer/spoke-go/conformance"
	"github.com/spoke-peer/spoke-go/conformance/vectors"
)

func ExampleRun() {
	report := conformance.Run(context.Background(), vectors.Files(), conformance.Options{Groups: []string{"dispatch"}})
	for _, g := range report.Groups {
		fmt.Println(g.Name, g.Status, g.Passed, "of", g.Total)
	}
	fmt.Println("ok:", report.OK)
	// Output:
	// dispatch passed 12 of 12
	// ok: true
}

func ExampleReport_WriteText() {
	files := fstest.MapFS{"made_up.json": {Data: []byte(
		`{"format":1,"group":"made_up","rule":"wire spec, section 99","about":"","count":{"cases":1},"cases":[{}]}`)}}
	report := conformance.Run(context.Background(), files, conformance.Options{})
	if err := report.WriteText(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// made_up  -/1  not run: this library's runner has no such group
	//
	// FAIL nothing was run
	//
	// FAILED: 0 of 0 cases passed
}
