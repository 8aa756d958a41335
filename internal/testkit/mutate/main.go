// Command mutate breaks one expression at a time in Go packages and looks whether a test of the package fails. It lists the mutations that no
// test noticed: a condition turned around, a bound moved by one, a dropped error.
//
// All mutations of a package are compiled into one test binary, in which the environment turns one of them on, so that none costs a compilation.
// Each test runs once alone to see which mutations it reaches, and a mutation is tried on these tests only, the short ones first. Results are
// appended to a file, and what is in it is not tried again as long as the source file is the same. Coverage is kept beside it, as long as the
// package is the same: a long run can be made in pieces (-m, -files) of a few minutes.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// core are the packages that are mutated by default: those that decide what is written, found and deleted.
var core = []string{"./shardfmt/internal/meta", "./shardfmt/filter", "./shardfmt/merge", "./shardfmt/internal/stats", "./manifest", "./catalog", "./compaction"}

func main() {
	// Mutated loops may never end by themselves.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	count   int
	until   time.Time
	seed    uint64
	jobs    int
	results string
	again   bool
	files   *regexp.Regexp
	only    *regexp.Regexp
	skip    string
	also    []string
}

func run(ctx context.Context) error {
	var o options
	minutes := flag.Int("m", 600, "try mutations for so many `minutes`")
	files := flag.String("files", "", "only try mutations of files whose path matches this `regexp`")
	also := flag.String("also", "", "comma-separated `packages` whose tests are run too")
	flag.IntVar(&o.count, "n", 0, "try at most `count` mutations of each package (default: all)")
	flag.Uint64Var(&o.seed, "s", 1, "`seed` of the order in which mutations are tried")
	flag.IntVar(&o.jobs, "j", runtime.NumCPU(), "`processes` at a time")
	flag.StringVar(&o.results, "o", "", "append results to this `file`, and skip what it has")
	flag.BoolVar(&o.again, "again", false, "try survivors of the results file again")
	tests := flag.String("run", "", "only run tests that match this `regexp`")
	flag.StringVar(&o.skip, "skip", "", "leave out tests that match this `regexp`")
	flag.Parse()
	o.until = time.Now().Add(time.Duration(*minutes) * time.Minute)
	var err error
	if o.files, err = regexp.Compile(*files); err != nil {
		return err
	}
	if o.only, err = regexp.Compile(*tests); err != nil {
		return err
	}
	if *also != "" {
		o.also = strings.Split(*also, ",")
	}
	work, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	packages := flag.Args()
	if len(packages) == 0 {
		packages = core
	}
	results, err := openResults(o.results)
	if err != nil {
		return err
	}
	defer results.Close()
	for i, path := range packages {
		dir := filepath.Join(work, strconv.Itoa(i))
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		p := &target{options: o, path: path, work: dir, results: results}
		if err := p.run(ctx); errors.Is(err, errTime) {
			fmt.Fprintf(os.Stderr, "%s: %v; the same command goes on\n", path, err)
		} else if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return results.print(os.Stdout, packages)
}

// target is a package that is mutated.
type target struct {
	options
	path, work string
	dir, name  string // of the package: its folder, its name in Go
	files      map[string][]byte
	sites      []*site
	hashes     map[string]string
	tests      []*test
	results    *results
}

// test is a test of a binary, with the mutations that it reaches.
type test struct {
	binary, dir, name string
	path              string // of its package
	took              time.Duration
	hits              map[int]bool
}

func (p *target) run(ctx context.Context) error {
	if err := p.read(); err != nil {
		return err
	}
	binaries, err := p.build()
	if err != nil {
		return err
	}
	if err := p.cover(ctx, binaries); err != nil {
		return err
	}
	return p.try(ctx)
}

// read finds the sites of the package.
func (p *target) read() error {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}\n{{.Name}}\n{{range .GoFiles}}{{.}}\n{{end}}", p.path).Output()
	if err != nil {
		return err
	}
	lines := strings.Fields(string(out))
	p.dir, p.name = lines[0], lines[1]
	p.files, p.hashes = map[string][]byte{}, map[string]string{}
	for _, file := range lines[2:] {
		path := filepath.Join(p.path, file)
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		sites, err := find(path, src, 1+len(p.sites))
		if err != nil {
			return err
		}
		p.files[path], p.hashes[path] = src, fmt.Sprintf("%x", sha256.Sum256(src))[:12]
		p.sites = append(p.sites, sites...)
	}
	return nil
}

var where = regexp.MustCompile(`^(?:\./)?(\S+\.go):(\d+):(\d+): `)

// build compiles the test binaries with all mutations, leaving out those that do not compile.
func (p *target) build() (map[string]string, error) {
	for {
		err := p.overlay()
		if err != nil {
			return nil, err
		}
		out, err := exec.Command("go", "build", "-gcflags=-e", "-overlay", filepath.Join(p.work, "overlay.json"), p.path).CombinedOutput()
		if err == nil {
			break
		}
		left := p.withoutErrors(string(out))
		if len(left) == len(p.sites) {
			return nil, fmt.Errorf("%w\n%s", err, out)
		}
		p.sites = left
	}
	binaries := map[string]string{}
	for i, path := range append([]string{p.path}, p.also...) {
		binary := filepath.Join(p.work, fmt.Sprintf("%d.test", i))
		out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", filepath.Join(p.work, "overlay.json"), "-o", binary, path).CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("%w\n%s", err, out)
		}
		binaries[path] = binary
	}
	return binaries, nil
}

// overlay writes the mutated files.
func (p *target) overlay() error {
	replace := map[string]string{}
	add := func(path, as string, src []byte) error {
		as = filepath.Join(p.work, as)
		replace[filepath.Join(p.dir, filepath.Base(path))] = as
		return os.WriteFile(as, src, 0o600)
	}
	for path, src := range p.files {
		var sites []*site
		for _, s := range p.sites {
			if s.file == path {
				sites = append(sites, s)
			}
		}
		if err := add(path, filepath.Base(path), apply(src, sites)); err != nil {
			return err
		}
	}
	last := 0
	for _, s := range p.sites {
		last = max(last, s.id)
	}
	if err := add("mutate_support.go", "mutate_support.go", fmt.Appendf(nil, support, p.name, last+1)); err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.work, "overlay.json"), text, 0o600)
}

// withoutErrors returns the sites without those that the compiler complains about: those of a line, and where none is there, of the function.
func (p *target) withoutErrors(out string) []*site {
	bad := map[int]bool{}
	for line := range strings.Lines(out) {
		m := where.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(m[2])
		found := false
		at := func(is func(*site) bool) {
			for _, s := range p.sites {
				if filepath.Base(s.file) == filepath.Base(m[1]) && is(s) {
					bad[s.id] = true
				}
			}
		}
		at(func(s *site) bool { ok := s.line <= n && n <= s.last; found = found || ok; return ok })
		// A loop that can be left needs a return behind it: that is reported at the end of the function.
		within := func(s *site) bool { return s.begins <= n && n <= s.ends }
		if !found {
			at(func(s *site) bool { ok := within(s) && s.rule == breaking; found = found || ok; return ok })
		}
		if !found {
			at(within)
		}
	}
	return slices.DeleteFunc(slices.Clone(p.sites), func(s *site) bool { return bad[s.id] })
}

// cover runs each test alone and notes which mutations it reaches. A test that fails without a mutation is left out.
func (p *target) cover(ctx context.Context, binaries map[string]string) error {
	for _, path := range slices.Sorted(maps.Keys(binaries)) {
		out, err := exec.Command("go", "list", "-f", "{{.Dir}}", path).Output()
		if err != nil {
			return err
		}
		dir := strings.TrimSpace(string(out))
		list := exec.Command(binaries[path], "-test.list", ".")
		list.Dir = dir
		if out, err = list.Output(); err != nil {
			return err
		}
		for _, name := range strings.Fields(string(out)) {
			if strings.HasPrefix(name, "Benchmark") || !p.only.MatchString(name) || p.skip != "" && regexp.MustCompile(p.skip).MatchString(name) {
				continue
			}
			p.tests = append(p.tests, &test{binary: binaries[path], dir: dir, name: name, path: path})
		}
	}
	var mu sync.Mutex
	var failed []string
	saved, err := p.savedCoverage()
	if err != nil {
		return err
	}
	defer saved.Close()
	each(p.jobs, p.tests, func(t *test) {
		if s, ok := saved.tests[t.path+" "+t.name]; ok {
			t.took, t.hits = s.took, s.hits
			return
		}
		if time.Now().After(p.until) || ctx.Err() != nil {
			return
		}
		hits := filepath.Join(p.work, filepath.Base(t.binary)+t.name+".hits")
		start := time.Now()
		ok, _ := p.passes(ctx, []*test{t}, 10*time.Minute, "MUTATE_HITS="+hits)
		t.took = time.Since(start)
		if !ok {
			mu.Lock()
			failed = append(failed, t.name)
			mu.Unlock()
			return
		}
		t.hits = map[int]bool{}
		text, _ := os.ReadFile(hits) // a test that reaches none leaves no file
		for _, line := range strings.Fields(string(text)) {
			id, _ := strconv.Atoi(line)
			t.hits[id] = true
		}
		mu.Lock()
		defer mu.Unlock()
		saved.add(t)
	})
	if err := errors.Join(ctx.Err(), saved.err); err != nil {
		return err
	}
	missing := -len(failed)
	for _, t := range p.tests {
		if t.hits == nil {
			missing++
		}
	}
	if missing > 0 {
		return fmt.Errorf("%w: %d of %d tests have not run yet", errTime, missing, len(p.tests))
	}
	p.tests = slices.DeleteFunc(p.tests, func(t *test) bool { return t.hits == nil })
	fmt.Fprintf(os.Stderr, "%s: %d mutations, %d tests; fail without a mutation: %s\n", p.path, len(p.sites), len(p.tests), strings.Join(failed, " "))
	return nil
}

// errTime ends a package whose coverage takes more time than there is: without all of it, mutations seem unreached that are not.
var errTime = errors.New("the time is up")

// coverage is which mutations each test reaches, kept in a file beside the results for as long as the files of the package are the same.
type coverage struct {
	file  *os.File
	sum   string
	tests map[string]*test
	err   error
}

// savedCoverage opens the file of the coverage, and reads what fits the package as it is. Without a results file nothing is kept.
func (p *target) savedCoverage() (*coverage, error) {
	hash := sha256.New()
	for _, s := range p.sites {
		fmt.Fprintln(hash, s.id, p.key(s))
	}
	c := &coverage{sum: fmt.Sprintf("%x", hash.Sum(nil))[:12], tests: map[string]*test{}}
	if p.options.results == "" {
		return c, nil
	}
	var err error
	if c.file, err = os.OpenFile(p.options.results+".coverage", os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(c.file)
	if err != nil {
		return nil, errors.Join(err, c.file.Close())
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 4 || f[0] != c.sum {
			continue
		}
		took, err := time.ParseDuration(f[3])
		if err != nil {
			continue
		}
		t := &test{took: took, hits: map[int]bool{}}
		for _, id := range f[4:] {
			n, _ := strconv.Atoi(id)
			t.hits[n] = true
		}
		c.tests[f[1]+" "+f[2]] = t
	}
	return c, nil
}

func (c *coverage) add(t *test) {
	if c.file == nil {
		return
	}
	line := fmt.Sprintf("%s %s %s %s", c.sum, t.path, t.name, t.took)
	for _, id := range slices.Sorted(maps.Keys(t.hits)) {
		line += " " + strconv.Itoa(id)
	}
	_, err := c.file.WriteString(line + "\n")
	c.err = errors.Join(c.err, err)
}

func (c *coverage) Close() error {
	if c.file == nil {
		return nil
	}
	return c.file.Close()
}

// each calls f for all of a list, some at a time.
func each[T any](jobs int, all []T, f func(T)) {
	var group sync.WaitGroup
	slots := make(chan struct{}, jobs)
	for _, one := range all {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			f(one)
		})
	}
	group.Wait()
}

// passes runs tests of one binary.
func (p *target) passes(ctx context.Context, tests []*test, limit time.Duration, env string) (ok, late bool) {
	var names []string
	for _, t := range tests {
		names = append(names, t.name)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// A mutated loop may take all memory.
	cmd := exec.CommandContext(ctx, "bash", "-c", `ulimit -v 12000000; exec "$@"`, "bash",
		tests[0].binary, "-test.short", "-test.failfast", "-test.run", "^("+strings.Join(names, "|")+")$")
	cmd.Dir, cmd.Env, cmd.WaitDelay = tests[0].dir, append(os.Environ(), env, "GOMAXPROCS=2"), time.Second
	err := cmd.Run()
	return err == nil, ctx.Err() != nil
}

// try tries the mutations in an order that the seed chooses.
func (p *target) try(ctx context.Context) error {
	var left []*site
	for _, s := range p.sites {
		if !p.options.files.MatchString(s.file) {
			continue
		}
		if r, ok := p.results.known[p.key(s)]; !ok || p.again && r != "noticed" && r != "late" {
			left = append(left, s)
		}
	}
	rand.New(rand.NewPCG(p.seed, 0)).Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
	if p.count > 0 {
		left = left[:min(len(left), p.count)]
	}
	each(p.jobs, left, func(s *site) {
		if time.Now().After(p.until) || ctx.Err() != nil {
			return
		}
		if outcome := p.outcome(ctx, s); ctx.Err() == nil {
			p.results.add(p.key(s), outcome, s)
		}
	})
	return errors.Join(ctx.Err(), p.results.err)
}

// key is a site as results name it.
func (p *target) key(s *site) string {
	n := 0 // mutations of one kind in a line
	for _, x := range p.sites {
		if x == s {
			break
		}
		if x.file == s.file && x.line == s.line && x.rule == s.rule {
			n++
		}
	}
	return fmt.Sprintf("%s\t%s\t%d\t%s\t%d", p.hashes[s.file], s.file, s.line, s.rule, n)
}

// outcome tries one mutation on the tests that reach it, a few short ones first.
func (p *target) outcome(ctx context.Context, s *site) string {
	reaching := map[string][]*test{}
	for _, t := range p.tests {
		if t.hits[s.id] {
			reaching[t.binary] = append(reaching[t.binary], t)
		}
	}
	if len(reaching) == 0 {
		return "unreached"
	}
	for _, binary := range slices.Sorted(maps.Keys(reaching)) {
		tests := reaching[binary]
		slices.SortFunc(tests, func(a, b *test) int { return int(a.took - b.took) })
		for n := 6; len(tests) > 0; n *= 4 {
			some := tests[:min(n, len(tests))]
			tests = tests[len(some):]
			limit := 20 * time.Second
			for _, t := range some {
				limit += 3 * t.took
			}
			if ok, late := p.passes(ctx, some, limit, "MUTATE_SITE="+strconv.Itoa(s.id)); late {
				return "late"
			} else if !ok {
				return "noticed"
			}
		}
	}
	return "survived"
}

// results are the outcomes of mutations by key, and the file that keeps them.
type results struct {
	mu    sync.Mutex
	file  *os.File
	known map[string]string
	texts map[string]string
	err   error
}

func openResults(path string) (*results, error) {
	r := &results{known: map[string]string{}, texts: map[string]string{}}
	if path == "" {
		return r, nil
	}
	var err error
	if r.file, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(r.file)
	if err != nil {
		return nil, errors.Join(err, r.file.Close())
	}
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		if f := strings.SplitN(s.Text(), "\t", 7); len(f) == 7 {
			key := strings.Join(f[1:6], "\t")
			r.known[key], r.texts[key] = f[0], f[6]
		}
	}
	return r, nil
}

func (r *results) add(key, outcome string, s *site) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[key], r.texts[key] = outcome, s.text
	if r.file != nil {
		_, err := fmt.Fprintf(r.file, "%s\t%s\t%s\n", outcome, key, s.text)
		r.err = errors.Join(r.err, err)
	}
}

func (r *results) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// byLine orders keys by file and line.
func byLine(a, b string) int {
	x, y := strings.Split(a, "\t"), strings.Split(b, "\t")
	i, _ := strconv.Atoi(x[2])
	j, _ := strconv.Atoi(y[2])
	return cmp.Or(strings.Compare(x[1], y[1]), cmp.Compare(i, j), strings.Compare(a, b))
}

// print lists what was not noticed, and counts by package.
func (r *results) print(w io.Writer, packages []string) error {
	var out strings.Builder
	for _, path := range packages {
		counts := map[string]int{}
		for _, key := range slices.SortedFunc(maps.Keys(r.known), byLine) {
			f := strings.Split(key, "\t")
			if filepath.Dir(f[1]) != filepath.Clean(path) {
				continue
			}
			outcome := r.known[key]
			if counts[outcome]++; outcome == "survived" || outcome == "unreached" {
				fmt.Fprintf(&out, "%s:%s  %s  (%s)\n    %s\n", f[1], f[2], f[3], outcome, r.texts[key])
			}
		}
		fmt.Fprintf(&out, "%s: %d noticed, %d ended by time, %d survived, %d reached by no test\n\n", path, counts["noticed"], counts["late"], counts["survived"], counts["unreached"])
	}
	_, err := io.WriteString(w, out.String())
	return err
}
