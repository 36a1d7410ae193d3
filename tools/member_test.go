package tools_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

type hidden struct {
	Depth int `json:"depth"`
}

type Shown struct {
	Height int `json:"height"`
	*hidden
}

type ByField struct{ X int }

type ByTag struct {
	Y int `json:"X"`
}

type tagWins struct {
	ByField
	ByTag
}

type formedHidden struct{}

func (*formedHidden) MarshalText() ([]byte, error) { return []byte("formed"), nil }

func (*formedHidden) UnmarshalText([]byte) error { return nil }

// twoForms has no text form: two embedded fields offer one.
type twoForms struct {
	formedHidden `json:"f"`
	OtherForm    `json:"-"`
}

type OtherForm struct{}

func (*OtherForm) MarshalText() ([]byte, error) { return nil, nil }

func (*OtherForm) UnmarshalText([]byte) error { return nil }

func TestTheMembersOfAResultAreThoseThatItIsEncodedWith(t *testing.T) {
	for name, run := range map[string]func(*testing.T){
		"a nil embedded pointer has none":     results(struct{ *Shown }{}, `{}`),
		"an embedded pointer has its members": results(struct{ *Shown }{&Shown{Height: 1}}, `{"height":1}`),
		"pointers in embedded pointers":       results(struct{ *Shown }{&Shown{1, &hidden{2}}}, `{"height":1,"depth":2}`),
		"an embedded value has a nil pointer": results(struct{ Shown }{Shown{Height: 1}}, `{"height":1}`),
		"an unexported embedded struct":       results(struct{ hidden }{hidden{1}}, `{"depth":1}`),
		"an unexported embedded pointer":      results(struct{ *hidden }{&hidden{1}}, `{"depth":1}`),
		"an unexported embedded nil pointer":  results(struct{ *hidden }{}, `{}`),
		"an unexported embedded struct by name": results(struct {
			hidden `json:"h"`
		}{hidden{1}}, `{"h":{"depth":1}}`),
		"an unexported pointer by name": results(struct {
			*hidden `json:"h"`
		}{}, `{"h":null}`),
		"an unexported form by name is none": results(twoForms{formedHidden{}, OtherForm{}}, `{}`),
		"an embedded pointer by name": results(struct {
			*Shown `json:"s"`
		}{}, `{"s":null}`),
		"options alone are no name": results(struct {
			Shown `json:",omitempty"`
		}{}, `{"height":0}`),
		"the name by tag wins":            results(tagWins{ByField{1}, ByTag{2}}, `{"X":2}`),
		"a number by its type's name":     results(struct{ Number }{3}, `{"Number":3}`),
		"an unexported number is none":    results(struct{ hiddenNumber }{3}, `{}`),
		"an interface by its type's name": results(struct{ Anything }{[]any{1}}, `{"Anything":[1]}`),
	} {
		t.Run(name, run)
	}
}

type Number int

type hiddenNumber int

type Anything any

func TestAnyOtherTextIsAName(t *testing.T) {
	type names struct {
		A int `json:"é x"`
		B int "json:\"-,\""
		C int `json:"a/b~1#$%&()*+.:;<=>?@[]^_{|}!"`
		D int `json:"🎲"`
		E int `json:" "`
		F int "json:\"\u2028\""
	}
	results(names{1, 2, 3, 4, 5, 6}, `{"é x":1,"-":2,"a/b~1#$%&()*+.:;<=>?@[]^_{|}!":3,"🎲":4," ":5,"\u2028":6}`)(t)
	r := open(t, echo[names](t))
	got, err := r.InvokeTool(t.Context(), echoID, names{1, 2, 3, 4, 5, 6})
	require.NoError(t, err)
	assert.Contains(t, string(got), `"🎲":4`)
}

func TestTheMembersOfArgumentsAreThoseThatAreDecoded(t *testing.T) {
	type arguments struct {
		hidden
		tagWins
		*Base
	}
	var seen arguments
	r := open(t, tools.New(echoID, "d", func(_ context.Context, in arguments) (any, error) { seen = in; return nil, nil }))
	_, err := r.InvokeTool(t.Context(), echoID, text(`{"depth":1,"X":2}`))
	require.NoError(t, err)
	assert.Equal(t, arguments{hidden: hidden{1}, tagWins: tagWins{ByTag: ByTag{2}}}, seen)
	_, err = r.InvokeTool(t.Context(), echoID, text(`{"depth":1,"X":2,"label":"a"}`))
	require.NoError(t, err)
	assert.Equal(t, &Base{Label: "a"}, seen.Base)
	_, err = r.InvokeTool(t.Context(), echoID, text(`{"depth":1,"X":2,"label":"A"}`))
	assert.Equal(t, spoke.CodeInvalidInput, spoke.CodeOf(err))
}

func TestArgumentsHaveNoMembersThatCannotBeSet(t *testing.T) {
	for name, check := range map[string]func(*testing.T){
		"behind an unexported pointer": inexpressible[struct{ *hidden }]("depth", "not exported"),
		"deeper behind one":            inexpressible[struct{ Shown }]("depth", "not exported"),
		"in an unexported struct by name": inexpressible[struct {
			hidden `json:"h"`
		}]("h", "not exported"),
		"in an unexported pointer by name": inexpressible[struct {
			*hidden `json:"h"`
		}]("h", "not exported"),
	} {
		t.Run(name, check)
	}
	require.NoError(t, tools.New(echoID, "d", func(context.Context, struct {
		*hiddenEmpty
		Depth int
	}) (any, error) {
		return nil, nil
	}).Err(), "there is nothing to set")
}

type hiddenEmpty struct{ Depth int }
