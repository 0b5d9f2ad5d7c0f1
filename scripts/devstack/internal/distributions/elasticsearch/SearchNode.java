package labplatform.search;

import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.PluginsLoader;

/**
 * Runs one Elasticsearch node in this process until it is asked to end. Every argument is one setting,
 * "name=value"; "path.home" is the distribution, which is only read.
 */
public final class SearchNode {
    private SearchNode() {}

    public static void main(String[] arguments) throws Exception {
        Settings settings = parse(arguments);
        LogConfigurator.configureESLogging();
        LogConfigurator.configureWithoutConfig(settings);
        Node node = new Node(prepare(settings), plugins(settings));
        closeAtTheEnd(node);
        node.start();
        new CountDownLatch(1).await();
    }

    private static Settings parse(String[] arguments) {
        Settings.Builder settings = Settings.builder();
        for (String argument : arguments) {
            int equals = argument.indexOf('=');
            if (equals < 1) {
                throw new IllegalArgumentException("not a setting, name=value: " + argument);
            }
            settings.put(argument.substring(0, equals), argument.substring(equals + 1));
        }
        return settings.build();
    }

    private static Environment prepare(Settings settings) {
        Path config = Path.of(settings.get("path.home"), "config");
        return InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), config, () -> settings.get("node.name"));
    }

    /** Modules are folders of path.home with a descriptor that names no Java module: they load from the class path. */
    private static PluginsLoader plugins(Settings settings) {
        Path home = Path.of(settings.get("path.home"));
        return PluginsLoader.createPluginsLoader(
            PluginsLoader.loadModulesBundles(home.resolve("modules")),
            PluginsLoader.loadPluginsBundles(home.resolve("plugins")),
            Map.of(),
            false);
    }

    private static void closeAtTheEnd(Node node) {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                node.close();
            } catch (Exception e) {
                e.printStackTrace();
            }
        }, "close-node"));
    }
}
