package docscheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// constructions are those that messages, help and pages avoid: a reader from the field neither expects them nor finds them by a search.
var constructions = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`\bis no (an? )?(number|time|url|file|json|integer|boolean|name|table|path|duration|date|size|valid|value|type|column|field|shard)\b`,
	`can't be meant`,
	`\bwhich (job|table|shard|file|column|index)\?`,
	`\bparts no fields\b`,
	`\bfields parted by\b`,
	`\bworth to be\b`,
	`\bwant more than nothing\b`,
	`\bthat it is there\b`,
	`\b(hold|held|holding) against\b`,
	`\bask and look\b`,
	`\bthere is no (field|column|key) %`,
	`\bways through\b`,
	`\bsecond day\b`,
	`\bno matter of\b`,
	`\bformat notes? \d`,
	`\bstay, by\b`,
	`\b(are|is) seen through\b`,
	`\btell what that loses\b`,
}, "|"))

// elliptic are constructions that messages of the program avoid besides: they leave out the subject, or name a thing by a clause.
var elliptic = regexp.MustCompile(strings.Join([]string{
	`(^|: |; )want `,
	`, want %`,
	`\bwhere %[a-z] (is|are) \b`,
	`\b(is|are) wanted\b`,
	`\bthere (is|are) %`,
	`\b%d are (left|there)\b`,
	`\bgives? up\b`,
	`\bgave up\b`,
	`\bhand(s|ed) out\b`,
	`\b(can't|cannot) be told\b`,
	`\bsay so\b`,
	`\bmade void\b`,
	`\bsign of life\b`,
	`\bhas no place\b`,
	`\bgo(es)? with\b`,
	`\bline of writers\b`,
	`\bmend(s|ed)?\b`,
	`\bmeanwhile\b`,
	`\bneighbours\b`,
	`\bnothing reaches\b`,
	`\bnamed twice\b`,
	`\bno JSON\b`,
	`\bis none of\b`,
	`\blies (in|at|beside|neither)\b`,
	`\bother bytes than\b`,
	`\bcome back later\b`,
	`\bone single\b`,
	`\bmakes no sense\b`,
	`\bdoes not answer\b`,
}, "|"))

// measuring are the folders of programs that only we run: measurements, and the suite for stores and readers.
var measuring = regexp.MustCompile(`/(bench|blobtest|blobfake|conformance|readertest|testservers|avo|gen)/`)

// TestMessagesAvoidConstructions: no string of the program, which is where messages, help and log lines are, has a construction
// that the list refuses. Tests and generated code are left out.
func TestMessagesAvoidConstructions(t *testing.T) {
	found := 0
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "testkit" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go"), strings.HasSuffix(path, "_test.go"), strings.HasSuffix(path, ".pb.go"):
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				found++
				if text, err := strconv.Unquote(l.Value); err == nil {
					what := constructions.FindString(text)
					if what == "" && !measuring.MatchString(path) {
						what = elliptic.FindString(text)
					}
					if what != "" {
						t.Errorf("%s: %q: use plain technical English: object, what is wrong, value, what to do next", set.Position(l.Pos()), what)
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 1000 {
		t.Errorf("only %d strings were looked at", found)
	}
}

// TestPagesAvoidConstructions: the same of the pages.
func TestPagesAvoidConstructions(t *testing.T) {
	pages := 0
	for _, root := range []string{"../../../docs", "../../../README.md", "../../../CHANGELOG.md", "../../../CONTRIBUTING.md", "../../../SECURITY.md"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".md") {
				return err
			}
			pages++
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for i, line := range strings.Split(string(b), "\n") {
				if what := constructions.FindString(line); what != "" {
					t.Errorf("%s:%d: %q: say it in the words of the field", path, i+1, what)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if pages < 50 {
		t.Errorf("only %d pages were looked at", pages)
	}
}

// dialect are constructions that comments, pages, scripts and packages avoid: verbs of speech for code, household words, and clauses in the
// place of nouns. A pattern is added once the tree has none.
var dialect = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`\banew\b`,
	`\b(is|are|was|were|be) told (of|how|when|what|which|whether|that)\b`,
	`\btells? (apart|whether|how|which|what|when|where|of)\b`,
	`\btold (apart|from|of)\b`,
	`\b(can't|cannot) be told\b`,
	`\bask(s|ed|ing)? for\b`,
	`\bwho(ever)? asks\b`,
	`\broom for\b`,
	`\b(makes?|no|more|less|enough) room\b`,
	`\bwhat (is|was) left\b`,
	`\bsays (that|whether|how|which|what|why|so)\b`,
	`\bsay so\b`,
	`\bh(o|e)ld(s|ing)? (\w+ ){0,2}against\b`,
	`\bat hand\b`,
	`\bformat notes? \d`,
	`\bmend(s|ed)?\b`,
	`\btended\b`,
	`\bthat it is there\b`,
	`\bsecond day\b`,
	`\bways through\b`,
}, "|"))

// commentsOf calls f with each line of comments of a Go file.
func commentsOf(path string, f func(line int, text string)) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			f(set.Position(c.Pos()).Line, c.Text)
		}
	}
	return nil
}

// linesOf calls f with each line of a file.
func linesOf(path string, f func(line int, text string)) error {
	b, err := os.ReadFile(path)
	for i, line := range strings.Split(string(b), "\n") {
		f(i+1, line)
	}
	return err
}

// TestTextAvoidsDialect: no comment of a Go file, and no line of a page, of a script, of the Python packages and of the files of deploy/ has a
// construction of the list. The modules of the assembly generator and of the browser tests are left out.
func TestTextAvoidsDialect(t *testing.T) {
	readers := map[string]func(string, func(int, string)) error{".go": commentsOf, "": linesOf}
	for _, ext := range []string{".md", ".py", ".yml", ".yaml", ".json", ".html", ".js", ".css", ".service", ".example", ".sh", ".toml"} {
		readers[ext] = linesOf
	}
	files := map[string]int{}
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		ext := filepath.Ext(path)
		read := readers[ext]
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (name == "testdata" || name == "vectors" || name == "avo" || name == "browser" || name == "docscheck" || name == "node_modules" || name == ".git" || name == ".venv"):
			return fs.SkipDir
		case d.IsDir(), read == nil, strings.HasSuffix(path, ".pb.go"), !d.Type().IsRegular():
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > 1<<20 {
			return err
		}
		files[ext]++
		return read(path, func(line int, text string) {
			if what := dialect.FindString(text); what != "" {
				t.Errorf("%s:%d: %q: use the term of the field", path, line, what)
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if files[".go"] < 1000 || files[".md"] < 60 || files[".py"] < 20 || files[".yaml"] < 3 {
		t.Errorf("files that were read, by extension: %v", files)
	}
}
