import java.util.Map;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/**
 * Runs the REST catalog of Iceberg's test fixtures and prints its port. By itself it listens on every address of the
 * machine, and has no option for it, so its connector is set before it takes a request.
 */
public class Loopback {
  public static void main(String[] args) throws Exception {
    Class<?> fixture = Class.forName("org.apache.iceberg.rest.RESTCatalogServer");
    var constructor = fixture.getDeclaredConstructor(Map.class);
    constructor.setAccessible(true);
    Object catalog = constructor.newInstance(Map.of("rest.port", "0"));
    fixture.getMethod("start", boolean.class).invoke(catalog, false);
    var field = fixture.getDeclaredField("httpServer");
    field.setAccessible(true);
    Server server = (Server) field.get(catalog);
    server.stop();
    ServerConnector connector = (ServerConnector) server.getConnectors()[0];
    connector.setHost("127.0.0.1");
    server.start();
    System.out.println(connector.getLocalPort());
    server.join();
  }
}
