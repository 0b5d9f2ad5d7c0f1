package labplatform.search;

import java.io.IOException;
import java.util.List;

import org.apache.lucene.util.Version;
import org.elasticsearch.Build;
import org.elasticsearch.client.internal.node.NodeClient;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.rest.RestChannel;
import org.elasticsearch.rest.RestHandler;
import org.elasticsearch.rest.RestRequest;
import org.elasticsearch.rest.RestResponse;
import org.elasticsearch.rest.RestStatus;
import org.elasticsearch.xcontent.XContentBuilder;

/** Answers "GET /" as the product does: clients ask it for the version. */
final class RootHandler implements RestHandler {
    private final Settings settings;

    RootHandler(Settings settings) {
        this.settings = settings;
    }

    @Override
    public List<Route> routes() {
        return List.of(new Route(RestRequest.Method.GET, "/"), new Route(RestRequest.Method.HEAD, "/"));
    }

    @Override
    public void handleRequest(RestRequest request, RestChannel channel, NodeClient client) throws IOException {
        XContentBuilder body = channel.newBuilder().startObject()
            .field("name", settings.get("node.name"))
            .field("cluster_name", settings.get("cluster.name"));
        version(body.startObject("version")).endObject();
        channel.sendResponse(new RestResponse(RestStatus.OK, body.field("tagline", "You Know, for Search").endObject()));
    }

    private static XContentBuilder version(XContentBuilder body) throws IOException {
        Build build = Build.current();
        return body.field("number", build.version())
            .field("build_flavor", build.flavor())
            .field("build_hash", build.hash())
            .field("build_date", build.date())
            .field("build_snapshot", build.isSnapshot())
            .field("lucene_version", Version.LATEST.toString())
            .field("minimum_wire_compatibility_version", build.minWireCompatVersion())
            .field("minimum_index_compatibility_version", build.minIndexCompatVersion());
    }
}
