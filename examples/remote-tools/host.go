package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"io"
	"os"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
	"github.com/spoke-peer/spoke-go/tools"
	"github.com/spoke-peer/spoke-go/tools/remotetool"
)

// visit dials an app and goes through the story.
func visit(ctx context.Context, o options, url string, out io.Writer) error {
	transport, err := ws.Dial(ctx, url, nil)
	if err != nil {
		return err
	}
	if !o.spoke {
		link, err := remotetool.Open(transport.Conn(), remotetool.LinkConfig{})
		if err != nil {
			return err
		}
		defer link.Wait()
		defer link.Close()
		fmt.Fprintln(out, "carrier: plain frames")
		return tell(ctx, remotetool.NewClient(link, remotetool.ClientConfig{}), o.out, out)
	}
	app, err := identity(appSeed)
	if err != nil {
		return err
	}
	cfg, err := config(hostSeed, "remote-tools-host", app.PeerID())
	if err != nil {
		return err
	}
	session, err := connect.Dial(ctx, transport, connect.DialConfig{Config: cfg, Remote: app.PeerID()})
	if err != nil {
		return err
	}
	defer session.Wait()
	defer session.Close()
	fmt.Fprintf(out, "carrier: signed session with %s\n", session.RemotePeerID())
	return tell(ctx, remotetool.NewClient(remotetool.OverSession(session.Session, 0), remotetool.ClientConfig{}), o.out, out)
}

// tell is the same story on every carrier.
func tell(ctx context.Context, client *remotetool.Client, path string, out io.Writer) error {
	if err := discover(ctx, client, out); err != nil {
		return fmt.Errorf("discover: %w", err)
	}
	if err := work(ctx, client, out); err != nil {
		return fmt.Errorf("work the screen: %w", err)
	}
	if err := save(ctx, client, path, out); err != nil {
		return fmt.Errorf("save the picture: %w", err)
	}
	fmt.Fprintln(out, "done: the saved file equals the sent one")
	return nil
}

func discover(ctx context.Context, client *remotetool.Client, out io.Writer) error {
	list, err := client.Tools(ctx)
	if err != nil {
		return err
	}
	for _, t := range list {
		fmt.Fprintf(out, "tool: %-20s %-6s %s\n", t.ID, t.Policy, t.Description)
	}
	_, err = client.Definitions(ctx, "ui.perform_action")
	return err
}

// work types, taps and looks, in one request.
func work(ctx context.Context, client *remotetool.Client, out io.Writer) error {
	batch, err := client.Batch(ctx, []remotetool.Call{
		{ID: "ui.perform_action", Arguments: actionArgs{Node: "note", Action: "type", Text: "Compass found"}},
		{ID: "ui.perform_action", Arguments: actionArgs{Node: "save", Action: "tap"}, After: &remotetool.After{}},
		{ID: "ui.query_nodes", Arguments: queryArgs{Text: "Compass"}},
	}, tools.StopOnError)
	if err != nil {
		return err
	}
	for _, item := range batch.Items {
		if item.Err != nil {
			return item.Err
		}
		fmt.Fprintf(out, "batch: %d %s %s\n", item.Index, item.Result.ToolID, item.Result.Result)
	}
	if !batch.Success {
		return errors.New("the batch did not succeed")
	}
	var tree struct{ Result json.RawMessage }
	if err := json.Unmarshal(batch.Items[1].Result.Evidence["visualTree"], &tree); err != nil || tree.Result == nil {
		return errors.New("the tap brought no evidence")
	}
	fmt.Fprintf(out, "evidence after the tap: %s\n", tree.Result)
	return nil
}

// save downloads the picture and reads back what was saved.
func save(ctx context.Context, client *remotetool.Client, path string, out io.Writer) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	frames := 0
	result, a, err := client.Download(ctx, remotetool.Call{ID: "ui.get_screenshot"}, file,
		&remotetool.ReceiveOptions{Progress: func(int64, int64) { frames++ }})
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	var sent picture
	if err := json.Unmarshal(result.Result, &sent); err != nil {
		return err
	}
	fmt.Fprintf(out, "picture: %s, %d bytes in %d pieces\n", a.FileName, a.SizeBytes, frames)
	return compare(path, sent.SHA256)
}

// compare holds the saved file to the digest of the sent one.
func compare(path, digest string) error {
	saved, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(saved); hex.EncodeToString(sum[:]) != digest {
		return errors.New("the saved file is not the sent one")
	}
	_, err = png.Decode(bytes.NewReader(saved))
	return err
}
