import java.sql.*;
import java.util.Properties;

/** Prints the rows of queries by the JDBC driver of Flight SQL, as text between tabs: Ask URL TOKEN QUERY... */
public class Ask {
    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        properties.put("token", arguments[1]);
        properties.put("useEncryption", "false");
        try (Connection c = DriverManager.getConnection(arguments[0], properties)) {
            for (int q = 2; q < arguments.length; q++) {
                try (PreparedStatement s = c.prepareStatement(arguments[q]); ResultSet r = s.executeQuery()) {
                    StringBuilder out = new StringBuilder();
                    int n = r.getMetaData().getColumnCount();
                    while (r.next()) {
                        for (int i = 1; i <= n; i++) {
                            out.append(i > 1 ? "\t" : "").append(r.getString(i));
                        }
                        out.append("\n");
                    }
                    System.out.println(out.append("."));
                }
            }
        }
    }
}
