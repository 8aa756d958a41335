package readertest

import "github.com/shardcat/shardcat/shardfmt/conformance"

// Score is what became of the cases of a level.
type Score struct {
	Level string `json:"level"`
	Cases int    `json:"cases"`
	// Passed of them, and Refused: forms that a reader need not know. The rest are Others, by outcome.
	Passed  int            `json:"passed"`
	Refused int            `json:"refused"`
	Others  map[string]int `json:"others,omitempty"`
}

// Conforms reports whether all cases of the level were passed, or are forms that were refused as they may be.
func (s Score) Conforms() bool { return s.Passed+s.Refused == s.Cases }

// Scores sums up outcomes, a Score for each level that has any, in the order of Levels.
func Scores(outcomes []Outcome) []Score {
	var scores []Score
	for _, level := range conformance.Levels {
		s := Score{Level: level}
		for _, o := range outcomes {
			if o.Level != level {
				continue
			}
			s.Cases++
			switch o.Outcome {
			case Passed:
				s.Passed++
			case Refused:
				s.Refused++
			default:
				if s.Others == nil {
					s.Others = map[string]int{}
				}
				s.Others[o.Outcome]++
			}
		}
		if s.Cases > 0 {
			scores = append(scores, s)
		}
	}
	return scores
}
