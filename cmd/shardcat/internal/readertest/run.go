package readertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shardcat/shardcat/shardfmt/conformance"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Placeholder stands for the path of a shard in the command line of a reader; IndexPlaceholder and KeysPlaceholder for those of
// an index and of questions to it.
const (
	Placeholder      = "{}"
	IndexPlaceholder = "{index}"
	KeysPlaceholder  = "{keys}"
)

// kitName is the name of the list of cases in the folder of a kit, and refuse the level of the shards that must be refused.
const (
	kitName = "kit.json"
	refuse  = "refuse"
)

// What a reader calls a shard that it refuses: the answers of cases.
const (
	corrupt     = "corrupt"
	unsupported = "unsupported"
	missing     = "missing"
	unsafe      = "unsafe"
)

// Outcomes of a case.
const (
	// Passed: the records are right, or the damaged shard was refused by its class.
	Passed = "passed"
	// Refused: the shard has a form that a reader need not know, and was refused as unsupported.
	Refused = "refused"
	// Misnamed: a damaged shard was refused, by another class than its own.
	Misnamed = "misnamed"
	// Wrong: other records than the kit's. Accepted: a damaged shard was read as if it were whole.
	Wrong    = "wrong"
	Accepted = "accepted"
	// Failed: the command failed on a whole shard, ended without a refusal on a damaged one, or refuses the sound one, too. Crashed: a
	// signal ended it, Late: it took too long.
	Failed  = "failed"
	Crashed = "crashed"
	Late    = "late"
)

// Outcome is what became of a case.
type Outcome struct {
	conformance.Case
	Outcome string `json:"outcome"`
	// Detail is the first difference, or what the command reported last.
	Detail string `json:"detail,omitempty"`
}

// RunOptions of Run. The zero value is valid.
type RunOptions struct {
	// Levels to run, all if empty.
	Levels []string
	// Lookup, if not empty, is a command line for lookups in the indexes of l4: IndexPlaceholder and KeysPlaceholder in
	// it stand for the paths of a Lookup. It prints an answer to each question as a line of JSON.
	Lookup string
	// Timeout of each command, DefaultTimeout if 0.
	Timeout time.Duration
}

// DefaultTimeout is the time that a reader has for a shard. The largest has 20,000 records.
const DefaultTimeout = time.Minute

// maxOutput is what a reader may print: more than the largest case's records.
const maxOutput = 64 << 20

// Run asks a reader for every case of the kit in a folder. command is a command line that is split at spaces, without a
// shell; Placeholder in it stands for the path of the shard. It prints every record as a line of JSON and ends with 0, or
// refuses the shard by an exit code and a word.
func Run(ctx context.Context, dir, command string, o RunOptions) ([]Outcome, error) {
	words := strings.Fields(command)
	if len(words) == 0 || !strings.Contains(command, Placeholder) {
		return nil, fmt.Errorf("the command of a reader names the shard by %s: %q", Placeholder, command)
	}
	lookup := strings.Fields(o.Lookup)
	if o.Lookup != "" && (!strings.Contains(o.Lookup, IndexPlaceholder) || !strings.Contains(o.Lookup, KeysPlaceholder)) {
		return nil, fmt.Errorf("the command of a lookup names index and questions by %s and %s: %q", IndexPlaceholder, KeysPlaceholder, o.Lookup)
	}
	k, err := readKit(dir)
	if err != nil {
		return nil, err
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	rows, lookups := reader{dir, words, o.Timeout}, reader{dir, lookup, o.Timeout}
	var jobs []job
	for _, c := range k.Cases {
		if len(o.Levels) > 0 && !slices.Contains(o.Levels, c.Level) {
			continue
		}
		jobs = append(jobs, func(ctx context.Context) (Outcome, error) { return rows.runCase(ctx, c) })
		for i := range c.Lookups {
			if len(lookup) > 0 {
				jobs = append(jobs, func(ctx context.Context) (Outcome, error) { return lookups.runLookup(ctx, c, i) })
			}
		}
	}
	out, err := runAll(ctx, jobs)
	if err != nil {
		return nil, err
	}
	sound := map[string]string{}
	for i := range out {
		out[i].proven(sound)
	}
	return out, nil
}

// job runs the command of a reader once.
type job func(ctx context.Context) (Outcome, error)

// runAll runs jobs, as many at a time as there are processors: most of a case is the start of a process. The outcomes are in the
// order of the jobs. The first error ends all.
func runAll(ctx context.Context, jobs []job) ([]Outcome, error) {
	out := make([]Outcome, len(jobs))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, run := range jobs {
		g.Go(func() (err error) {
			out[i], err = run(ctx)
			return err
		})
	}
	return out, g.Wait()
}

// proven takes a refusal for what it is by what became of the sound shard, which comes before its damages: sound has the outcomes of
// those by their names.
func (r *Outcome) proven(sound map[string]string) {
	switch {
	case r.Level != refuse:
	case r.Answer == "":
		sound[r.Name] = r.Outcome
	case r.Sound == "" || sound[r.Sound] == Passed:
	case sound[r.Sound] == Refused && (r.Outcome == Passed || r.Outcome == Misnamed):
		r.Outcome = Refused
	case r.Outcome == Passed || r.Outcome == Misnamed:
		r.Outcome, r.Detail = Failed, fmt.Sprintf("the sound shard %s was not read either: %s", r.Sound, r.Detail)
	}
}

// readKit reads the list of cases in a folder.
func readKit(dir string) (*conformance.Kit, error) {
	b, err := os.ReadFile(filepath.Join(dir, kitName))
	if err != nil {
		return nil, fmt.Errorf("no kit in %s, write one first: %w", dir, err)
	}
	k := new(conformance.Kit)
	if err := json.Unmarshal(b, k); err != nil {
		return nil, fmt.Errorf("%s in %s: %w", kitName, dir, err)
	}
	if k.Version != conformance.Version {
		return nil, fmt.Errorf("the kit in %s has version %d, this program's is %d: write it anew", dir, k.Version, conformance.Version)
	}
	for _, c := range k.Cases {
		if !filepath.IsLocal(c.Shard) || !filepath.IsLocal(c.Rows) && c.Rows != "" {
			return nil, fmt.Errorf("case %s/%s of the kit in %s lies outside of it", c.Level, c.Name, dir)
		}
		for _, l := range c.Lookups {
			if !filepath.IsLocal(l.Index) || !filepath.IsLocal(l.Keys) || !filepath.IsLocal(l.Answers) {
				return nil, fmt.Errorf("an index of case %s/%s of the kit in %s lies outside of it", c.Level, c.Name, dir)
			}
		}
	}
	return k, nil
}

// capped keeps what a command prints, up to a limit; what is more fails.
type capped struct {
	bytes.Buffer
	limit int
}

func (w *capped) Write(b []byte) (int, error) {
	if w.Len()+len(b) > w.limit {
		return 0, errors.New("too much output")
	}
	return w.Buffer.Write(b)
}

// reader is a command of a reader, in words, for cases of the kit in a folder.
type reader struct {
	dir     string
	words   []string
	timeout time.Duration
}

// runCase runs the command for one case. An error is one of the driver, not of the reader.
func (x reader) runCase(ctx context.Context, c conformance.Case) (Outcome, error) {
	r := Outcome{Case: c}
	err := r.run(ctx, x, map[string]string{Placeholder: c.Shard}, r.judge)
	return r, err
}

// runLookup runs the command for one index of a case.
func (x reader) runLookup(ctx context.Context, c conformance.Case, i int) (Outcome, error) {
	l := c.Lookups[i]
	r := Outcome{Case: c}
	r.Name = fmt.Sprintf("%s, index %d", c.Name, i)
	err := r.run(ctx, x, map[string]string{IndexPlaceholder: l.Index, KeysPlaceholder: l.Keys}, func(dir string, said []byte) error {
		want, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(l.Answers)))
		if err != nil {
			return err
		}
		r.Outcome = Passed
		if r.Detail = answered(said, want); r.Detail != "" {
			r.Outcome = Wrong
		}
		return nil
	})
	return r, err
}

// run runs the command of a reader, with paths of the kit in the place of names, and judges what it printed.
func (r *Outcome) run(ctx context.Context, x reader, paths map[string]string, judge func(dir string, printed []byte) error) error {
	args := slices.Clone(x.words)
	for i := range args {
		for name, path := range paths {
			args[i] = strings.ReplaceAll(args[i], name, filepath.Join(x.dir, filepath.FromSlash(path)))
		}
	}
	limited, cancel := context.WithTimeout(ctx, x.timeout)
	defer cancel()
	cmd := exec.CommandContext(limited, args[0], args[1:]...)
	printed, said := &capped{limit: maxOutput}, &capped{limit: 1 << 20}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = printed, said, time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		r.Outcome, r.Detail = Late, fmt.Sprintf("no end within %v", x.timeout)
	case err == nil:
		return judge(x.dir, printed.Bytes())
	case !errors.As(err, &exit):
		return fmt.Errorf("%s: %w", args[0], err)
	case exit.ExitCode() < 0 || exit.ExitCode() >= 128:
		r.Outcome, r.Detail = Crashed, lastLine(said.String())
	default:
		r.refused(exit.ExitCode(), lastLine(said.String()))
	}
	return nil
}

// refusal is the last line of a reader that refuses: the class is its first word, or the first behind the name of the program.
var refusal = regexp.MustCompile(`^(?:[^\s:]+: )?(corrupt|unsupported|missing|unsafe)\b`)

// Exit codes of a refusal: refusedCode, or unsafeCode for a reference that is unsafe.
const (
	refusedCode = 3
	unsafeCode  = 6
)

// refused judges the end of a command that is neither success nor a crash.
func (r *Outcome) refused(code int, line string) {
	r.Detail = line
	m := refusal.FindStringSubmatch(line)
	if m == nil || code != refusedCode && (code != unsafeCode || m[1] != unsafe) {
		r.Outcome = Failed
		if r.Answer != "" {
			r.Detail = fmt.Sprintf("exit code %d, which is not a refusal: %s", code, line)
		}
		return
	}
	switch class := m[1]; {
	case r.Answer == "" && r.Optional && class == unsupported:
		r.Outcome = Refused
	case r.Answer == "":
		r.Outcome = Failed
	case class == r.Answer, r.Answer == missing && class == corrupt, r.Optional && class == unsupported:
		r.Outcome = Passed
	default:
		r.Outcome, r.Detail = Misnamed, fmt.Sprintf("should be %s: %s", r.Answer, line)
	}
}

// judge compares the records that a command printed with the kit's.
func (r *Outcome) judge(dir string, rows []byte) error {
	if r.Answer != "" {
		r.Outcome, r.Detail = Accepted, "should be "+r.Answer
		return nil
	}
	want, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(r.Rows)))
	if err != nil {
		return err
	}
	r.Outcome = Passed
	var s *schema.Schema
	if len(r.Schema) > 0 {
		if s, err = schema.Parse(string(r.Schema)); err != nil {
			return fmt.Errorf("case %s/%s: %w", r.Level, r.Name, err)
		}
	}
	if r.Detail = difference(rows, want, s); r.Detail != "" {
		r.Outcome = Wrong
	}
	return nil
}

// lastLine is the end of what a command reported.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
