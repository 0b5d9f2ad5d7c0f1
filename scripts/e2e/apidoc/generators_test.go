package apidoc

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// generatorVersion is the version of openapi-generator. The lists of packages have the versions of the other
// generators.
const generatorVersion = "7.25.0"

// generator creates a client from the document in a folder. Then it compiles or imports the client with a program that
// schedules a message and uploads a report.
type generator struct {
	name     string
	generate func(t *testing.T, folder, document string)
	run      func(t *testing.T, folder string, args ...string) string
	// files is a pattern of the files in which method finds the names of operations.
	files  string
	method *regexp.Regexp
}

var generators = []generator{
	{
		name: "openapi-python-client",
		generate: func(t *testing.T, folder, document string) {
			t.Helper()
			write(t, filepath.Join(folder, "config.yaml"), "post_hooks: []\n")
			out := command(t, folder, pythonClientTool(t, "openapi-python-client"), "generate", "--path", document,
				"--output-path", "lab_client", "--meta", "none", "--config", "config.yaml")
			if strings.Contains(out, "Warning") {
				t.Errorf("openapi-python-client leaves something out:\n%s", out)
			}
		},
		run: func(t *testing.T, folder string, args ...string) string {
			t.Helper()
			return command(t, folder, pythonClientTool(t, "python"), append([]string{"python_client.py"}, args...)...)
		},
		files: "lab_client/api/*/*.py", method: regexp.MustCompile(`(?s)^.*$`), // one file for each operation
	},
	{
		name: "openapi-generator, python",
		generate: func(t *testing.T, folder, document string) {
			t.Helper()
			openAPIGenerator(t, folder, document, "python")
		},
		run: func(t *testing.T, folder string, args ...string) string {
			t.Helper()
			python := pythonClientTool(t, "python")
			command(t, folder, python, "-c", "import importlib, pkgutil, openapi_client as c\n"+
				"for m in pkgutil.walk_packages(c.__path__, 'openapi_client.'): importlib.import_module(m.name)")
			return command(t, folder, python, append([]string{"generator_python.py"}, args...)...)
		},
		files: "openapi_client/api/*.py", method: regexp.MustCompile(`(?m)^    def (\w+)\(`),
	},
	{
		name:     "openapi-generator, java",
		generate: func(t *testing.T, folder, document string) { t.Helper(); openAPIGenerator(t, folder, document, "java") },
		run: func(t *testing.T, folder string, args ...string) string {
			t.Helper()
			if err := os.Rename(filepath.Join(folder, "Client.java"), filepath.Join(folder, "src/main/java/Client.java")); err != nil {
				t.Fatal(err)
			}
			return command(t, folder, "mvn", "-q", "-B", "compile", "org.codehaus.mojo:exec-maven-plugin:3.5.0:java",
				"-Dexec.mainClass=Client", "-Dexec.args="+strings.Join(args, " "))
		},
		files: "src/main/java/org/openapitools/client/api/*.java", method: regexp.MustCompile(`(?m)^    public API\w+Request (\w+)\(`),
	},
	{
		name: "oapi-codegen",
		generate: func(t *testing.T, folder, document string) {
			t.Helper()
			for _, name := range []string{"go.mod", "go.sum", "main.go"} {
				if err := os.Rename(filepath.Join(folder, "goclient", name), filepath.Join(folder, name)); err != nil {
					t.Fatal(err)
				}
			}
			write(t, filepath.Join(folder, "rest/config.yaml"), "package: rest\ngenerate: {models: true, client: true}\noutput: rest/rest.go\n")
			t.Setenv("GOWORK", "off")
			command(t, folder, "go", "tool", "oapi-codegen", "-config", "rest/config.yaml", document)
		},
		run: func(t *testing.T, folder string, args ...string) string {
			t.Helper()
			return command(t, folder, "go", append([]string{"run", "."}, args...)...)
		},
		files: "rest/rest.go", method: regexp.MustCompile(`(?m)^func \(c \*Client\) (\w+?)(?:WithBody)?\(`),
	},
}

// openAPIGenerator downloads the generator if necessary and creates a client.
func openAPIGenerator(t *testing.T, folder, document, language string) {
	t.Helper()
	tools := absolute(t, toolFolder)
	jar := filepath.Join(tools, "openapi-generator-cli-"+generatorVersion+".jar")
	if _, err := os.Stat(jar); err != nil {
		command(t, tools, "mvn", "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy",
			"-Dartifact=org.openapitools:openapi-generator-cli:"+generatorVersion, "-DoutputDirectory="+tools)
	}
	out := command(t, folder, "java", "-jar", jar, "generate", "-i", document, "-g", language, "-o", ".",
		"--additional-properties=useSingleRequestParameter=true") // for Java: optional parameters may be omitted
	if strings.Contains(out, "Schema cannot be null") || strings.Contains(out, "ERROR") {
		t.Errorf("openapi-generator leaves something out:\n%s", out)
	}
}

// TestClientsOfOtherGeneratorsCompileAndWork takes minutes, so `make test` runs the TypeScript client only. The table
// that it prints names generators that cannot be installed.
func TestClientsOfOtherGeneratorsCompileAndWork(t *testing.T) {
	if os.Getenv("LAB_LONG_TESTS") != "1" {
		t.Skip("make test-long generates clients with every generator")
	}
	document := served(t)
	var table strings.Builder
	for _, g := range generators {
		outcome := "did not finish: see its test"
		t.Run(g.name, func(t *testing.T) {
			for _, program := range []string{"java", "mvn"} {
				if strings.Contains(g.name, "openapi-generator") {
					needs(t, program)
				}
			}
			outcome = g.test(t, document)
		})
		fmt.Fprintf(&table, "%-28s %s\n", g.name, outcome)
	}
	t.Logf("clients of the document:\n%s", table.String())
}

func (g generator) test(t *testing.T, document string) (outcome string) {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	word, pdf := savedReport(t, folder)
	g.generate(t, folder, document)
	methods := g.methods(t, folder)
	operations := 0
	for path, item := range readDocument(t).Paths {
		for method, operation := range item {
			operations++
			if !methods[plainName(operation.ID)] {
				t.Errorf("the client lacks %s (%s %s)", operation.ID, method, path)
			}
		}
	}
	editID, token := openEdit(t)
	out := g.run(t, folder, platform.Endpoints.Gateway, session, editID, token, next31st(time.Now()), word, pdf)
	if !strings.Contains(out, "scheduled ") || !strings.Contains(out, "uploaded ") {
		t.Errorf("the client says %s, want what it scheduled and uploaded", out)
	}
	return fmt.Sprintf("%d operations, a message on %s, an upload", operations, next31st(time.Now()))
}

// openEdit opens an editing session and returns its id and token. The session ends with the test.
func openEdit(t *testing.T) (id, token string) {
	t.Helper()
	status, answer := exchange(t, platform.Endpoints, false, http.MethodPost, "/api-v3/report/external-edit/7017",
		[]byte(`{"template_id":1,"word_s3_filepath":"templates/report.docx"}`))
	var opened struct {
		EditID json.Number `json:"edit_id"`
		Token  string      `json:"auth_token"`
	}
	if err := json.Unmarshal(answer, &opened); err != nil || status != http.StatusOK {
		t.Fatalf("open an editing session: %d %s, %v", status, answer, err)
	}
	id = opened.EditID.String()
	t.Cleanup(func() {
		if status, answer := exchange(t, platform.Endpoints, false, http.MethodPut, "/api-v3/report/external-edit/"+id, nil); status != http.StatusOK {
			t.Errorf("end the editing session: %d %s", status, answer)
		}
	})
	return id, opened.Token
}

// methods returns the plain names of the client's methods, or of its files if the generator writes one file for each
// operation.
func (g generator) methods(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, g.files))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files %s, %v", g.files, err)
	}
	found := map[string]bool{}
	for _, file := range files {
		found[plainName(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))] = true
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range g.method.FindAllStringSubmatch(string(text), -1) {
			found[plainName(match[len(match)-1])] = true
		}
	}
	return found
}

// plainName returns a name without the differences that generators make.
func plainName(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// next31st returns the next 31st of a month, at 10 o'clock.
func next31st(now time.Time) string {
	day := now.UTC().AddDate(0, 0, 1)
	for day.Day() != 31 {
		day = day.AddDate(0, 0, 1)
	}
	return day.Format("2006-01-02") + "T10:00:00"
}

// savedReport writes the smallest valid Word document and PDF of a report, and returns their paths.
func savedReport(t *testing.T, folder string) (word, pdf string) {
	t.Helper()
	out, err := os.Create(filepath.Join(folder, "report.docx"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	archive := zip.NewWriter(out)
	const office = "http://schemas.openxmlformats.org/"
	for _, part := range [][2]string{
		{"[Content_Types].xml", `<Types xmlns="` + office + `package/2006/content-types"><Default Extension="rels" ` +
			`ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ` +
			`ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`},
		{"_rels/.rels", `<Relationships xmlns="` + office + `package/2006/relationships"><Relationship Id="rId1" Type="` + office +
			`officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`},
		{"word/document.xml", `<w:document xmlns:w="` + office + `wordprocessingml/2006/main"><w:body/></w:document>`},
	} {
		w, err := archive.Create(part[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, part[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "report.pdf"), "%PDF-1.7\n1 0 obj <</Type /Catalog>> endobj\ntrailer <</Root 1 0 R>>\n%%EOF\n")
	return "report.docx", "report.pdf"
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
