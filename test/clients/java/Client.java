/** Java's own HTTP client with its defaults (it offers h2c), by chat completions. */
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

public class Client {
  static final HttpClient http = HttpClient.newHttpClient();
  static String args;

  static String find(String pattern, String text) {
    var found = Pattern.compile(pattern).matcher(text);
    return found.find() ? found.group(1) : null;
  }

  static HttpRequest request(String key, String model, String more) {
    var body = "{\"model\":\"" + model + "\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]" + more + "}";
    return HttpRequest.newBuilder(URI.create(find("\"url\":\"([^\"]+)", args) + "/v1/chat/completions"))
        .header("authorization", "Bearer " + find("\"" + key + "\":\"([^\"]+)", args))
        .header("content-type", "application/json")
        .POST(HttpRequest.BodyPublishers.ofString(body))
        .build();
  }

  static String quoted(Object text) {
    return "\"" + String.valueOf(text).replaceAll("[\\\\\"\\p{Cntrl}]", " ") + "\"";
  }

  static String ask(String key, String model) throws Exception {
    while (true) {
      var answer = http.send(request(key, model, ""), HttpResponse.BodyHandlers.ofString());
      if (answer.statusCode() == 429) {
        Thread.sleep(Long.parseLong(answer.headers().firstValue("retry-after-ms").orElseThrow()));
        continue;
      }
      if (answer.statusCode() != 200)
        return "{\"error\":" + quoted(answer.body()) + ",\"status\":" + answer.statusCode() + "}";
      return "{\"text\":" + quoted(find("\"content\":\"([^\"]*)", answer.body())) + "}";
    }
  }

  static String stream(String key, String model, boolean leaves) throws Exception {
    var asked = request(key, model, ",\"stream\":true,\"stream_options\":{\"include_usage\":true}");
    try (Stream<String> lines = http.send(asked, HttpResponse.BodyHandlers.ofLines()).body()) {
      var text = new StringBuilder();
      String usage = "0";
      for (Iterator<String> each = lines.iterator(); each.hasNext(); ) {
        var line = each.next();
        if (line.startsWith("data: {\"error\"")) return "{\"error\":" + quoted(line) + "}";
        var content = find("\"content\":\"([^\"]*)", line);
        if (content != null) text.append(content);
        var total = find("\"total_tokens\":(\\d+)", line);
        if (total != null) usage = total;
        if (leaves && content != null) return "{\"at\":" + System.currentTimeMillis() + "}";
      }
      return "{\"text\":" + quoted(text) + ",\"usage\":" + usage + "}";
    } catch (Exception error) {
      return "{\"error\":" + quoted(error) + "}";
    }
  }

  public static void main(String[] given) throws Exception {
    args = given[0];
    ask("spent", "plain");
    ask("busy", "plain");
    Map<String, String> seen = new LinkedHashMap<>();
    seen.put("whole", ask("whole", "plain"));
    seen.put("stream", stream("stream", "plain", false));
    seen.put("bad", ask("bad", "bad"));
    seen.put("unknown", ask("unknown", "plain"));
    seen.put("spent", ask("spent", "plain"));
    seen.put("scope", ask("scope", "plain"));
    seen.put("missing", ask("missing", "nothing"));
    seen.put("busy", ask("busy", "plain"));
    seen.put("cut", stream("cut", "cut", false));
    seen.put("slow", stream("slow", "slow", false));
    seen.put("leave", stream("leave", "endless", true));
    System.out.println("\n" + seen.entrySet().stream()
        .map(one -> quoted(one.getKey()) + ":" + one.getValue())
        .collect(Collectors.joining(",", "{", "}")));
    Thread.sleep(200);
    System.exit(0);
  }
}
