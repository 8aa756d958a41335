package main

import (
	"context"
	"encoding/json"
	"math"

	"github.com/shardcat/shardcat/shardfmt/index"
)

// layerJSON is the answer of a layer index: the question and the positions of all records whose keys match.
type layerJSON struct {
	Absent    bool            `json:"absent,omitempty"`
	From      json.RawMessage `json:"from,omitempty"`
	Key       json.RawMessage `json:"key,omitempty"`
	Positions []uint64        `json:"positions"`
	To        json.RawMessage `json:"to,omitempty"`
}

// layerAnswers are those of a layer index.
type layerAnswers struct{ x *index.Layer }

func (l layerAnswers) ask(ctx context.Context, k indexKey) (any, error) {
	if k.Key == nil && k.From == nil && k.To == nil {
		return nil, nil
	}
	keys, err := l.keys(k)
	if err != nil {
		return nil, err
	}
	rows, _, err := l.x.Rows(ctx, []index.Keys{keys}, math.MaxUint64, math.MaxUint64)
	if err != nil {
		return nil, err
	}
	out := layerJSON{Key: k.Key, From: k.From, To: k.To, Positions: []uint64{}}
	for _, r := range rows {
		for p := r.Start; p < r.End; p++ {
			out.Positions = append(out.Positions, p)
		}
	}
	out.Absent = len(out.Positions) == 0
	return out, nil
}

func (l layerAnswers) keys(k indexKey) (keys index.Keys, err error) {
	if k.Key != nil {
		keys.Low, err = l.bytes(k.Key)
		keys.High = keys.Low
		return keys, err
	}
	if k.From != nil {
		keys.Low, err = l.bytes(k.From)
	}
	if err == nil && k.To != nil {
		keys.High, err = l.bytes(k.To)
	}
	return keys, err
}

// bytes is a key as it was typed in the bytes that sort as it does.
func (l layerAnswers) bytes(text json.RawMessage) ([]byte, error) {
	key, err := l.x.ParseKey(text)
	if err != nil {
		return nil, usagef("%s is not a key of an index of type %s", text, l.x.Types())
	}
	return key, nil
}
