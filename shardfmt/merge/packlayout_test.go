package merge

import (
	"slices"
	"testing"
)

// TestSpansAreDisjoint: ranges that overlap are one span, of the chunk that comes first; padding joins ranges of one chunk only.
func TestSpansAreDisjoint(t *testing.T) {
	a, b := chunk{0, 0}, chunk{1, 0}
	type learned struct {
		chunk
		start, end int64
	}
	for name, c := range map[string]struct{ in, want []learned }{
		"apart":                       {[]learned{{b, 300, 310}, {a, 100, 200}}, []learned{{a, 100, 200}, {b, 300, 310}}},
		"padding in one":              {[]learned{{a, 100, 130}, {b, 400, 500}, {a, 193, 200}}, []learned{{a, 100, 200}, {b, 400, 500}}},
		"padding learned in order":    {[]learned{{a, 193, 200}, {a, 100, 130}}, []learned{{a, 100, 200}}},
		"no padding":                  {[]learned{{a, 100, 130}, {b, 400, 500}, {a, 194, 200}}, []learned{{a, 100, 130}, {a, 194, 200}, {b, 400, 500}}},
		"side by side":                {[]learned{{a, 100, 130}, {b, 130, 200}}, []learned{{a, 100, 130}, {b, 130, 200}}},
		"within":                      {[]learned{{b, 120, 130}, {a, 100, 200}}, []learned{{a, 100, 200}}},
		"the same":                    {[]learned{{b, 100, 200}, {a, 100, 200}}, []learned{{a, 100, 200}}},
		"one that overlaps two":       {[]learned{{a, 100, 120}, {b, 130, 150}, {a, 110, 140}}, []learned{{a, 100, 150}}},
		"nothing at the end of one":   {[]learned{{a, 100, 120}, {b, 120, 120}}, []learned{{a, 100, 120}}},
		"one on both sides of a span": {[]learned{{a, 100, 110}, {b, 110, 120}, {a, 120, 130}}, []learned{{a, 100, 110}, {b, 110, 120}, {a, 120, 130}}},
	} {
		p := &places{origins: map[string]*origin{}}
		for _, r := range c.in {
			_, _, _ = p.of(r.chunk, "o", r.start, r.end)
		}
		o := p.origins["o"]
		o.disjoin()
		var got []learned
		for _, s := range o.spans {
			got = append(got, learned{s.chunk, s.start, s.end})
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		p.into, o.moves = "into", true
		for i := range o.spans {
			o.spans[i].to = o.spans[i].start + 1000*int64(i+1)
		}
		for _, r := range c.in {
			into, by, err := p.of(r.chunk, "o", r.start, r.end)
			i := slices.IndexFunc(o.spans, func(s span) bool { return s.start <= r.start && r.end <= s.end })
			if into != "into" || by != 1000*int64(i+1) || err != nil {
				t.Errorf("%s: [%d, %d) goes to %q, shifted by %d, %v", name, r.start, r.end, into, by, err)
			}
		}
		if _, _, err := p.of(a, "o", 90, 95); err == nil {
			t.Errorf("%s: a range that was not learned is shifted", name)
		}
		if _, _, err := p.of(a, "o", 105, 1000); err == nil {
			t.Errorf("%s: a range that ends beyond its span is shifted", name)
		}
	}
}

// TestSumsOfSpans: a stripe gets the checksum of each span that one of its own covers in part, once.
func TestSumsOfSpans(t *testing.T) {
	o := &origin{spans: []span{{start: 0, end: 10}, {start: 10, end: 20}, {start: 30, end: 40}, {start: 50, end: 60}}}
	o.sums = []summed{{stripe: 0, start: 0, end: 15}, {stripe: 0, start: 15, end: 30}, {stripe: 1, start: 39, end: 50}, {stripe: 2, start: 20, end: 30}}
	p := new(places)
	if n := p.assignSums([]*origin{o}, 3); n != 3 || len(p.sums) != 2 || len(p.sums[0]) != 2 || len(p.sums[1]) != 1 ||
		p.sums[0][0] != &o.spans[0] || p.sums[0][1] != &o.spans[1] || p.sums[1][0] != &o.spans[2] {
		t.Errorf("%d: %v", n, p.sums)
	}
	if n := p.assignSums([]*origin{o}, 1); n != 2 {
		t.Errorf("%d checksums, more than one is enough", n)
	}
}

// TestOrderOfOrigins: what is of no stripe does not bring an object forward, and one that gives no data gets no place.
func TestOrderOfOrigins(t *testing.T) {
	o := &origin{spans: []span{{chunk: wholeShard}, {chunk: chunk{7, 1}}, {chunk: chunk{5, 2}}}}
	if n := o.firstStripe(); n != 5 {
		t.Errorf("the first stripe is %d", n)
	}
	p := &places{origins: map[string]*origin{}}
	empty := p.origin("o", 8, 80)
	empty.sums = []summed{{0, 8, 80, 1}}
	if l := p.layColumns([]*origin{empty}); l != nil {
		t.Errorf("%+v", l)
	}
	if l := p.layWhole([]*origin{empty}); len(l.spans) != 1 || l.size != 88 {
		t.Errorf("%+v", l)
	}
}
