package arrowhttp

import (
	_ "embed"
	"net/http"
)

//go:embed assets/openapi.json
var openAPIDocument []byte

//go:embed assets/page.html
var pageDocument []byte

func openAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Write(openAPIDocument)
}

func page(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(pageDocument)
}
