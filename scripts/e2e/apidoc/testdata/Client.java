import java.io.File;
import java.util.Collections;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.BExternalEditApi;
import org.openapitools.client.api.DTaskQueueApi;
import org.openapitools.client.auth.HttpBearerAuth;
import org.openapitools.client.model.LabTaskqueueV1ScheduledTask;

/** Schedules a message and uploads an edited report with the client that openapi-generator generates. */
public class Client {
  public static void main(String[] args) throws Exception {
    String base = args[0], login = args[1], token = args[3], when = args[4];
    long session = Long.parseLong(args[2]);
    ApiClient client = new ApiClient().setBasePath(base).addDefaultHeader("Cookie", "sessionid=" + login);
    LabTaskqueueV1ScheduledTask task = LabTaskqueueV1ScheduledTask.fromJson("{\"sch_time\":\"" + when
        + "\",\"task\":1,\"task_type\":7,\"data\":{\"contact\":\"+919812345678\",\"message\":\"Hello\"}}");
    System.out.println("scheduled " + new DTaskQueueApi(client).taskQueueServiceSchedule(Collections.singletonList(task)).execute().getJobIds().get(0));

    ApiClient holder = new ApiClient().setBasePath(base);
    ((HttpBearerAuth) holder.getAuthentication("edit_session")).setBearerToken(token);
    System.out.println("uploaded " + new BExternalEditApi(holder)
        .externalEditServiceUploadFiles(session, new File(args[6]), new File(args[5])).execute().getWordS3Path());
  }
}
