import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.StringJoiner;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The client scenario of ../README.md with the PostgreSQL JDBC driver: prepared statements past the
 * fifth execution (named on the server, binary results) with a fetch size (a portal that is suspended).
 */
public class Client {
    static final String ACQUIRE = "SELECT * FROM raisin_lock_acquire(?, ?)";
    static final String CLAIM = "SELECT * FROM raisin_inventory_claim(?, ?, ?)";

    static Connection conn;

    public static void main(String[] args) throws SQLException {
        String sslMode = env("PGSSLMODE", "prefer");
        String url = "jdbc:postgresql://" + env("PGHOST", "127.0.0.1") + ":" + env("PGPORT", "5432") + "/"
                + env("PGDATABASE", "postgres") + "?sslmode=" + sslMode;
        conn = DriverManager.getConnection(url, env("PGUSER", "postgres"), env("PGPASSWORD", ""));
        if (args.length > 0 && args[0].equals("anonymous")) {
            System.out.println(failure(ACQUIRE, "seat:jdbc", 5000L));
            System.out.println(failure(CLAIM, "pool:jdbc", 1L, 5L));
            System.out.println("select: " + one("SELECT 1")[0]);
        } else {
            scenario();
        }
        conn.close();
    }

    static void scenario() throws SQLException {
        want(conn.isValid(5), "the connection is not valid");
        want(conn.getMetaData().getDatabaseProductVersion().matches("\\d+\\.\\d+.*"), "product version");

        String key = "seat:jdbc";
        Object[] row = one(ACQUIRE, key, 5000L);
        want(row[1].equals(key) && row[2] instanceof Long && (Long) row[2] > 1L << 50, "token " + row[2]);
        want(row[3] instanceof Long && (Long) row[3] > System.currentTimeMillis(), "expires_at_ms " + row[3]);
        long token = (Long) row[2];
        System.out.println("acquire: " + letter(row[0]));

        row = one(ACQUIRE, key, 5000L);
        want(row[1].equals(key) && row[2] == null && row[3] == null, "refused row");
        System.out.println("refused: " + letter(row[0]));

        System.out.println("renew: " + letter(one("SELECT raisin_lock_renew(?, ?, ?)", key, token, 5000L)[0]));
        System.out.println("release: " + letter(one("SELECT raisin_lock_release(?, ?)", key, token)[0]));
        System.out.println("release again: " + letter(one("SELECT raisin_lock_release(?, ?)", key, token)[0]));

        // a jsonb is a PGobject here; the JDK has no JSON reader
        Object json = one("SELECT raisin_lock_acquire(?, ?)", "json:jdbc", 5000L)[0];
        Matcher m = Pattern.compile(
                "\\{\"key\": \"json:jdbc\", \"token\": (\\d+), \"acquired\": true, \"expires_at_ms\": (\\d+)\\}")
                .matcher(json.toString());
        want(m.matches(), "json " + json);
        want(Long.parseLong(m.group(1)) > 1L << 50 && Long.parseLong(m.group(2)) > System.currentTimeMillis(), "json " + json);
        System.out.println("json: acquired");
        System.out.println(one("SELECT raisin_lock_acquire(?, ?)", "json:jdbc", 5000L)[0]);

        for (long n : new long[] {2, 2, 2, 1, 1}) {
            row = one(CLAIM, "pool:jdbc", n, 5L);
            want(row[1] instanceof Long, "remaining " + row[1]);
            System.out.println("claim: " + letter(row[0]) + " " + row[1]);
        }
        System.out.println("restock: " + one("SELECT raisin_inventory_release(?, ?)", "pool:jdbc", 2L)[0]);

        conn.setAutoCommit(false);
        StringJoiner left = new StringJoiner(" ");
        try (PreparedStatement ten = conn.prepareStatement("SELECT remaining FROM raisin_inventory_claim(?, ?, ?)")) {
            ten.setFetchSize(1);
            for (int i = 0; i < 10; i++) {
                try (ResultSet rs = run(ten, "ten:jdbc", 1L, 10L)) {
                    want(rs.next(), "no row");
                    left.add(String.valueOf(rs.getObject(1, Long.class)));
                    want(!rs.next(), "a second row"); // asks the suspended portal again
                }
            }
        }
        conn.commit();
        System.out.println("prepared: " + left);

        System.out.println("error: " + failure(ACQUIRE, "", 5000L));
        System.out.println("aborted: " + failure("SELECT 1"));
        conn.rollback();
        System.out.println("alive: " + one("SELECT 1")[0]);
        conn.commit();
        System.out.println("done");
    }

    /** The only row of a statement, in the driver's native types. */
    static Object[] one(String sql, Object... args) throws SQLException {
        try (PreparedStatement st = conn.prepareStatement(sql); ResultSet rs = run(st, args)) {
            want(rs.next(), "no row from " + sql);
            Object[] row = new Object[rs.getMetaData().getColumnCount()];
            for (int i = 0; i < row.length; i++) {
                row[i] = rs.getObject(i + 1);
            }
            want(!rs.next(), "a second row from " + sql);
            return row;
        }
    }

    static ResultSet run(PreparedStatement st, Object... args) throws SQLException {
        for (int i = 0; i < args.length; i++) {
            st.setObject(i + 1, args[i]);
        }
        return st.executeQuery();
    }

    static String failure(String sql, Object... args) {
        try {
            one(sql, args);
            return "no error";
        } catch (SQLException e) {
            return e.getSQLState();
        }
    }

    static String letter(Object value) {
        want(value instanceof Boolean, value + " is not a boolean");
        return (Boolean) value ? "t" : "f";
    }

    static void want(boolean ok, String what) {
        if (!ok) {
            throw new IllegalStateException("unexpected: " + what);
        }
    }

    static String env(String name, String otherwise) {
        String value = System.getenv(name);
        return value == null || value.isEmpty() ? otherwise : value;
    }
}
