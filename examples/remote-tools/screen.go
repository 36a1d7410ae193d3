package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"image"
	"image/color"
	"image/png"
	"strings"
	"sync"

	"github.com/spoke-peer/spoke-go/tools"
	"github.com/spoke-peer/spoke-go/tools/remotetool"
)

// node is one element of the app's screen.
type node struct {
	ID   string `json:"id"`
	Role string `json:"role" enum:"label,button,field"`
	Text string `json:"text"`
}

// screen is the app's user interface.
type screen struct {
	mu    sync.Mutex
	nodes []node
}

func newScreen() *screen {
	return &screen{nodes: []node{
		{"title", "label", "Harbor log"},
		{"note", "field", ""},
		{"save", "button", "Save"},
	}}
}

func (s *screen) snapshot() []node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]node(nil), s.nodes...)
}

type actionArgs struct {
	Node   string `json:"node" jsonschema:"id of the node"`
	Action string `json:"action" enum:"tap,type"`
	Text   string `json:"text,omitempty" jsonschema:"what to type"`
}

type actionResult struct {
	Node node `json:"node"`
}

// performAction works one node.
func (s *screen) performAction(_ context.Context, in actionArgs) (actionResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.nodes {
		n := &s.nodes[i]
		if n.ID != in.Node {
			continue
		}
		if in.Action == "type" {
			n.Text = in.Text
		} else {
			n.Text += " ✓"
		}
		return actionResult{*n}, nil
	}
	return actionResult{}, &tools.Failure{Code: "ui_node_not_found", Message: "There is no node " + in.Node + "."}
}

type queryArgs struct {
	Role string `json:"role,omitempty" enum:"label,button,field"`
	Text string `json:"text,omitempty" jsonschema:"part of the text"`
}

type nodeList struct {
	Nodes []node `json:"nodes"`
}

func (s *screen) queryNodes(_ context.Context, in queryArgs) (nodeList, error) {
	var list nodeList
	for _, n := range s.snapshot() {
		if (in.Role == "" || in.Role == n.Role) && strings.Contains(n.Text, in.Text) {
			list.Nodes = append(list.Nodes, n)
		}
	}
	return list, nil
}

func (s *screen) visualTree(context.Context, struct{}) (nodeList, error) {
	return nodeList{s.snapshot()}, nil
}

// picture is the result of a screenshot: the file comes after it.
type picture struct {
	File   remotetool.Announcement `json:"file"`
	SHA256 string                  `json:"sha256"`
}

func (s *screen) screenshot(ctx context.Context, _ struct{}) (picture, error) {
	drawn, err := s.draw()
	if err != nil {
		return picture{}, err
	}
	sum := sha256.Sum256(drawn)
	file, err := remotetool.StreamFile(ctx, remotetool.File{
		Reader: bytes.NewReader(drawn), Size: int64(len(drawn)), Name: "screen.png", MimeType: "image/png",
	})
	return picture{File: file, SHA256: hex.EncodeToString(sum[:])}, err
}

// draw paints one band for each node, in a grain that its text decides.
func (s *screen) draw() ([]byte, error) {
	const width, band = 480, 120
	nodes := s.snapshot()
	canvas := image.NewRGBA(image.Rect(0, 0, width, band*len(nodes)))
	for i, n := range nodes {
		h := fnv.New64a()
		fmt.Fprint(h, n)
		grain := h.Sum64()
		for y := i * band; y < (i+1)*band; y++ {
			for x := range width {
				grain = grain*6364136223846793005 + 1442695040888963407
				canvas.Set(x, y, color.RGBA{uint8(grain >> 56), uint8(grain >> 48), uint8(i * 80), 255})
			}
		}
	}
	var file bytes.Buffer
	err := png.Encode(&file, canvas)
	return file.Bytes(), err
}

// tools returns what the screen offers.
func (s *screen) tools() []*tools.Tool {
	read := tools.Metadata{Policy: tools.PolicyRead, Keywords: []string{"screen"}}
	return []*tools.Tool{
		tools.New("tools.ui.perform_action", "Tap a node or type into it.", s.performAction).
			With(tools.Metadata{Policy: tools.PolicyWrite, Prerequisites: []string{"ui.query_nodes"}}),
		tools.New("tools.ui.query_nodes", "Find nodes by role and text.", s.queryNodes).With(read),
		tools.New("tools.ui.get_visual_tree", "All nodes of the screen.", s.visualTree).With(read),
		tools.New("tools.ui.get_screenshot", "A picture of the screen, as a file.", s.screenshot).With(read),
	}
}
