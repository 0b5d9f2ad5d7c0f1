package distributions

import (
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed elasticsearch
var elasticsearchFiles embed.FS

const elasticsearchVersion = "8.19.21"

// Elasticsearch returns the search server as a library with a main class of this project. Its folder has lib/ and
// classes/, the class path, and home/, the server's path.home with its modules. The server only reads the folder.
func Elasticsearch() Distribution {
	return Distribution{Name: "elasticsearch", Version: elasticsearchVersion,
		files: subtree(elasticsearchFiles, "elasticsearch"), build: buildElasticsearch}
}

func buildElasticsearch(ctx context.Context, tools Tools, files fs.FS, dir string, progress io.Writer) error {
	pom, lib := filepath.Join(dir, "pom.xml"), filepath.Join(dir, "lib")
	if err := copyFile(files, "pom.xml", pom); err != nil {
		return err
	}
	if err := fetch(ctx, tools, "Elasticsearch "+elasticsearchVersion, pom, lib, progress); err != nil {
		return err
	}
	for _, name := range []string{"home/config", "home/plugins", "classes", "module/labplatform/search", "sources"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			return err
		}
	}
	if err := compile(ctx, tools, files, dir); err != nil {
		return err
	}
	return makeModules(ctx, tools, dir)
}

// compile puts the main class into classes/ and the classes of the module into module/. The module has a class loader
// of its own and must not find its classes on the server's class path.
func compile(ctx context.Context, tools Tools, files fs.FS, dir string) error {
	sources, err := fs.Glob(files, "*.java")
	if err != nil {
		return err
	}
	args := []string{"-nowarn", "-d", filepath.Join(dir, "module"), "-cp", filepath.Join(dir, "lib", "*")}
	for _, name := range sources {
		path := filepath.Join(dir, "sources", name)
		if err := copyFile(files, name, path); err != nil {
			return err
		}
		args = append(args, path)
	}
	if err := run(ctx, tools.Javac, args...); err != nil {
		return err
	}
	const main = "labplatform/search/SearchNode.class"
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, "classes", main)), 0o755); err != nil {
		return err
	}
	return os.Rename(filepath.Join(dir, "module", main), filepath.Join(dir, "classes", main))
}

// makeModules makes the two modules of the server, the network layer and this project's text analysis. Each is a folder
// with a descriptor and its jars.
func makeModules(ctx context.Context, tools Tools, dir string) error {
	network, err := makeModule(dir, "transport-netty4", "org.elasticsearch.transport.netty4.Netty4Plugin")
	if err != nil {
		return err
	}
	for _, pattern := range []string{"netty-*.jar", "transport-netty4-*.jar"} {
		jars, err := filepath.Glob(filepath.Join(dir, "lib", pattern))
		if err != nil {
			return err
		}
		for _, jar := range jars {
			if err := os.Rename(jar, filepath.Join(network, filepath.Base(jar))); err != nil {
				return err
			}
		}
	}
	analysis, err := makeModule(dir, "labplatform-search", "labplatform.search.SearchModule")
	if err != nil {
		return err
	}
	return run(
		ctx,
		tools.Jar,
		"--create",
		"--file",
		filepath.Join(analysis, "labplatform-search.jar"),
		"-C",
		filepath.Join(dir, "module"),
		".",
	)
}

// makeModule creates the folder of a module with its descriptor. The descriptor names no Java module, so that the jars
// are loaded from a class path.
func makeModule(dir, name, class string) (string, error) {
	module := filepath.Join(dir, "home", "modules", name)
	if err := os.MkdirAll(module, 0o755); err != nil {
		return "", err
	}
	descriptor := fmt.Sprintf(
		"name=%s\ndescription=%s\nversion=%s\nelasticsearch.version=%s\njava.version=17\nclassname=%s\n",
		name,
		name,
		elasticsearchVersion,
		elasticsearchVersion,
		class,
	)
	return module, os.WriteFile(filepath.Join(module, "plugin-descriptor.properties"), []byte(descriptor), 0o644)
}
