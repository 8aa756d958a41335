import io.trino.plugin.iceberg.IcebergPlugin;
import io.trino.spi.type.SqlTimestampWithTimeZone;
import io.trino.spi.type.SqlVarbinary;
import io.trino.testing.MaterializedRow;
import io.trino.testing.StandaloneQueryRunner;
import io.trino.testing.TestingSession;
import java.io.BufferedReader;
import java.io.FileWriter;
import java.io.InputStreamReader;
import java.io.Writer;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/**
 * Answers queries of tables behind a gateway. Arguments: the URL of the server, the read token, the file of answers. Each line of stdin is a name, a
 * tab and a query; each line of the file is a JSON array of the name, the rows, and the error or null.
 */
public class Check {
    private static final DateTimeFormatter MICROS = DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSSSSS'Z'");

    public static void main(String[] args) throws Exception {
        var session = TestingSession.testSessionBuilder().setCatalog("shards").setSchema("default").build();
        try (var runner = new StandaloneQueryRunner(session); Writer out = new FileWriter(args[2], StandardCharsets.UTF_8)) {
            runner.installPlugin(new IcebergPlugin());
            runner.createCatalog("shards", "iceberg", Map.ofEntries(
                    Map.entry("iceberg.catalog.type", "rest"), Map.entry("iceberg.rest-catalog.uri", args[0] + "/iceberg"),
                    Map.entry("iceberg.rest-catalog.security", "OAUTH2"), Map.entry("iceberg.rest-catalog.oauth2.credential", "me:" + args[1]),
                    Map.entry("iceberg.rest-catalog.oauth2.server-uri", args[0] + "/iceberg/v1/oauth/tokens"),
                    Map.entry("iceberg.rest-catalog.vended-credentials-enabled", "true"),
                    Map.entry("iceberg.expire-snapshots.min-retention", "0s"), Map.entry("iceberg.remove-orphan-files.min-retention", "0s"),
                    Map.entry("fs.s3.enabled", "true"), Map.entry("s3.region", "us-east-1"), Map.entry("s3.endpoint", args[0]),
                    Map.entry("s3.path-style-access", "true")));
            var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                int tab = line.indexOf('\t');
                var b = new StringBuilder("[");
                append(b, line.substring(0, tab));
                try {
                    var rows = runner.execute(line.substring(tab + 1)).getMaterializedRows();
                    b.append(',');
                    append(b, rows);
                    b.append(",null]\n");
                } catch (RuntimeException e) {
                    b.append(",null,");
                    append(b, String.valueOf(e.getMessage()));
                    b.append("]\n");
                }
                out.write(b.toString());
            }
        }
        System.exit(0); // threads of the server stay
    }

    private static void append(StringBuilder b, Object v) {
        switch (v) {
            case null -> b.append("null");
            case Boolean x -> b.append(x);
            case BigDecimal x -> b.append('"').append(x.toPlainString()).append('"');
            case Number x -> b.append(x);
            case SqlVarbinary x -> append(b, Base64.getEncoder().encodeToString(x.getBytes()));
            case byte[] x -> append(b, Base64.getEncoder().encodeToString(x));
            case SqlTimestampWithTimeZone x -> append(b, x.toZonedDateTime());
            case ZonedDateTime x -> append(b, x.withZoneSameInstant(ZoneOffset.UTC).format(MICROS));
            case MaterializedRow x -> append(b, x.getFields());
            case List<?> x -> {
                String mark = "[";
                for (Object e : x) {
                    b.append(mark);
                    append(b, e);
                    mark = ",";
                }
                b.append(x.isEmpty() ? "[]" : "]");
            }
            case Map<?, ?> x -> {
                String mark = "[";
                Iterator<? extends Map.Entry<?, ?>> all = x.entrySet().iterator();
                while (all.hasNext()) {
                    var e = all.next();
                    b.append(mark).append('[');
                    append(b, e.getKey());
                    b.append(',');
                    append(b, e.getValue());
                    b.append(']');
                    mark = ",";
                }
                b.append(x.isEmpty() ? "[]" : "]");
            }
            default -> {
                b.append('"');
                for (char c : v.toString().toCharArray()) {
                    if (c < ' ' || c == '"' || c == '\\') {
                        b.append(String.format("\\u%04x", (int) c));
                    } else {
                        b.append(c);
                    }
                }
                b.append('"');
            }
        }
    }
}
