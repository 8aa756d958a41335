package archtest

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var updateAPI = flag.Bool("update-api", false, "rewrite testdata/api.txt with the exported names of the module")

const (
	repository = "../../.."
	apiList    = repository + "/testdata/api.txt"
)

// TestPublicAPI compares the exported names of importable packages with testdata/api.txt, so that each added, renamed or
// removed one is a decision that a review sees. go test ./internal/testkit/archtest -run PublicAPI -update-api rewrites it.
func TestPublicAPI(t *testing.T) {
	got := exported(t)
	if *updateAPI {
		if err := os.WriteFile(apiList, []byte(strings.Join(got, "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(apiList)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	listed, present := map[string]bool{}, map[string]bool{}
	for _, line := range want {
		listed[line] = true
	}
	for _, line := range got {
		present[line] = true
		if !listed[line] {
			t.Errorf("exported, but not in testdata/api.txt: %s", line)
		}
	}
	for _, line := range want {
		if !present[line] {
			t.Errorf("in testdata/api.txt, but not exported: %s", line)
		}
	}
	if t.Failed() {
		t.Log("run go test ./internal/testkit/archtest -run PublicAPI -update-api if the change is meant")
	}
}

// TestExamples: every package that other modules can import shows its first use in an Example.
func TestExamples(t *testing.T) {
	checked := map[string]bool{}
	for _, name := range exported(t) {
		folder, _, _ := strings.Cut(name, " ")
		if checked[folder] {
			continue
		}
		checked[folder] = true
		tests, err := filepath.Glob(filepath.Join(repository, folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(tests, func(path string) bool { return hasExample(t, path) }) {
			t.Errorf("%s has no Example", folder)
		}
	}
	if len(checked) < 20 {
		t.Errorf("only %d packages were found", len(checked))
	}
}

func hasExample(t *testing.T, path string) bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return strings.HasSuffix(file.Name.Name, "_test") && slices.ContainsFunc(file.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		return ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Example")
	})
}

// exported lists the exported names of every package that other modules can import, with the methods and fields of exported types, also of
// those that are aliases of internal ones.
func exported(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path == repository {
				return nil
			}
			name := d.Name()
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
				return fs.SkipDir
			}
			if name == "internal" || name == "testdata" || strings.HasPrefix(name, ".") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if file.Name.Name == "main" {
			return nil
		}
		folder, err := filepath.Rel(repository, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, name := range slices.Concat(exportedOf(file), aliased(t, file)) {
			names = append(names, filepath.ToSlash(folder)+" "+name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// aliased lists the methods and fields of types of internal packages that a file exports under names of its own.
func aliased(t *testing.T, file *ast.File) (names []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || !spec.Assign.IsValid() || !spec.Name.IsExported() {
			return true
		}
		of, ok := spec.Type.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		for _, i := range file.Imports {
			folder, own := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), "github.com/shardcat/shardcat/")
			if !own || !strings.Contains(folder, "internal/") || filepath.Base(folder) != of.X.(*ast.Ident).Name {
				continue
			}
			for _, name := range exportedIn(t, folder) {
				if kind, member, ok := strings.Cut(name, " "+of.Sel.Name+"."); ok {
					names = append(names, kind+" "+spec.Name.Name+"."+member)
				}
			}
		}
		return true
	})
	return names
}

// exportedIn lists the exported names of a package.
func exportedIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repository, folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, exportedOf(file)...)
	}
	return names
}

func exportedOf(file *ast.File) (names []string) {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if !decl.Name.IsExported() {
				continue
			}
			if decl.Recv == nil {
				names = append(names, "func "+decl.Name.Name)
			} else if of := receiver(decl.Recv.List[0].Type); ast.IsExported(of) {
				names = append(names, "method "+of+"."+decl.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						if name.IsExported() {
							names = append(names, decl.Tok.String()+" "+name.Name)
						}
					}
				case *ast.TypeSpec:
					if spec.Name.IsExported() {
						names = append(names, "type "+spec.Name.Name)
						names = append(names, members(spec)...)
					}
				}
			}
		}
	}
	return names
}

// receiver is the name of the type that a method belongs to.
func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.IndexListExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
}

// members lists the exported fields of a struct and the exported methods of an interface.
func members(spec *ast.TypeSpec) (names []string) {
	var list *ast.FieldList
	kind := "field"
	switch of := spec.Type.(type) {
	case *ast.StructType:
		list = of.Fields
	case *ast.InterfaceType:
		list, kind = of.Methods, "method"
	default:
		return nil
	}
	for _, field := range list.List {
		for _, name := range field.Names {
			if name.IsExported() {
				names = append(names, kind+" "+spec.Name.Name+"."+name.Name)
			}
		}
	}
	return names
}
