import java.io.File;
import java.util.Collections;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.BExternalEditApi;
import org.openapitools.client.api.DTaskQueueApi;
import org.openapitools.client.auth.HttpBearerAuth;
import org.openapitools.client.model.LabExternaleditV1CreateSessionResponse;
import org.openapitools.client.model.LabExternaleditV1ExternalEditServiceCreateSessionBody;
import org.openapitools.client.model.LabTaskqueueV1ScheduledTask;

/** Schedules a message and uploads an edited report with the client that openapi-generator generates. */
public class Client {
  public static void main(String[] args) throws Exception {
    String base = args[0], session = args[1], when = args[3];
    long report = Long.parseLong(args[2]);
    ApiClient client = new ApiClient().setBasePath(base).addDefaultHeader("Cookie", "sessionid=" + session);
    LabTaskqueueV1ScheduledTask task = LabTaskqueueV1ScheduledTask.fromJson("{\"sch_time\":\"" + when
        + "\",\"task\":1,\"task_type\":7,\"data\":{\"contact\":\"+919812345678\",\"message\":\"Hello\"}}");
    System.out.println("scheduled " + new DTaskQueueApi(client).taskQueueServiceSchedule(Collections.singletonList(task), null, null).getJobIds().get(0));

    BExternalEditApi edit = new BExternalEditApi(client);
    LabExternaleditV1CreateSessionResponse opened = edit.externalEditServiceCreateSession(report, new LabExternaleditV1ExternalEditServiceCreateSessionBody()
        .templateId(1L).wordS3Filepath("templates/report.docx"));
    ApiClient holder = new ApiClient().setBasePath(base);
    ((HttpBearerAuth) holder.getAuthentication("edit_session")).setBearerToken(opened.getAuthToken());
    System.out.println("uploaded " + new BExternalEditApi(holder)
        .externalEditServiceUploadFiles(opened.getEditId(), new File(args[5]), new File(args[4]), null, null).getWordS3Path());
    edit.externalEditServiceEndSession(opened.getEditId());
  }
}
