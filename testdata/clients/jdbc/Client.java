import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
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

    public static void main(String[] args) throws SQLException, IOException {
        if (args.length > 0 && args[0].equals("logins")) {
            logins();
            return;
        }
        String sslMode = env("PGSSLMODE", "prefer");
        String url = "jdbc:postgresql://" + env("PGHOST", "127.0.0.1") + ":" + env("PGPORT", "5432") + "/"
                + env("PGDATABASE", "postgres") + "?sslmode=" + sslMode;
        conn = DriverManager.getConnection(url, env("PGUSER", "postgres"), env("PGPASSWORD", ""));
        if (args.length > 0 && args[0].equals("anonymous")) {
            System.out.println(failure(ACQUIRE, "seat:jdbc", 5000L));
            System.out.println(failure(CLAIM, "pool:jdbc", 1L, 5L));
            System.out.println("select: " + one("SELECT 1")[0]);
        } else if (args.length > 0 && args[0].equals("mixed")) {
            mixed();
        } else if (args.length > 0 && args[0].equals("relations")) {
            relations();
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

    static void mixed() throws SQLException {
        try (Statement st = conn.createStatement()) {
            st.execute("SET client_min_messages = warning");
            st.execute("DROP SCHEMA IF EXISTS jdbc CASCADE");
            st.execute("CREATE SCHEMA jdbc");
            st.execute("SET search_path = jdbc");
            st.execute("CREATE TABLE orders (id serial, flight text, buyer text, seats_left bigint)");
            st.execute("CREATE TABLE seats (id text PRIMARY KEY, buyer text, fence bigint)");
            st.execute("INSERT INTO seats VALUES ('14A'), ('14B')");
            st.execute("CREATE TABLE jobs (id int, state text)");
            st.execute("INSERT INTO jobs VALUES (1, 'ready'), (2, 'done'), (3, 'ready')");
        }

        try (PreparedStatement insert = conn.prepareStatement("INSERT INTO orders(flight, buyer, seats_left) SELECT 'AA123', ?, c.remaining FROM raisin_inventory_claim('flight:AA123', 1, 180) c WHERE c.claimed RETURNING id");
                PreparedStatement last = conn.prepareStatement("INSERT INTO orders(flight, buyer, seats_left) SELECT 'AA124', ?, c.remaining FROM raisin_inventory_claim('flight:AA124', 1, 2) c WHERE c.claimed RETURNING id")) {
            for (int i = 0; i < 11; i++) {
                String buyer = "buyer " + i;
                List<Object[]> found = rows(i < 7 ? insert : last, buyer);
                if (found.isEmpty()) {
                    System.out.println("insert: none");
                    continue;
                }
                Object[] order = one("SELECT buyer, seats_left FROM orders WHERE id = ?", found.get(0)[0]);
                want(found.size() == 1 && found.get(0)[0] instanceof Integer && order[0].equals(buyer), "order of " + buyer);
                System.out.println("insert: " + found.get(0)[0] + " " + order[1]);
            }
        }

        try (PreparedStatement update = conn.prepareStatement("WITH l AS (SELECT * FROM raisin_lock_acquire('seat:' || ?, 5000)) UPDATE seats SET buyer = ?, fence = l.token FROM l WHERE l.acquired AND seats.id = ? AND coalesce(seats.fence, 0) < l.token RETURNING seats.id")) {
            String[] ids = {"14A", "14A", "14B", "14A", "14B", "14A", "14A"};
            for (int i = 0; i < ids.length; i++) {
                if (i == 6) {
                    System.out.println("release: " + letter(one("SELECT raisin_lock_release('seat:' || id, fence) FROM seats WHERE id = ?", ids[i])[0]));
                }
                String buyer = "buyer " + i;
                List<Object[]> found = rows(update, ids[i], buyer, ids[i]);
                if (found.isEmpty()) {
                    System.out.println("update: none");
                    continue;
                }
                Object[] seat = one("SELECT buyer, fence FROM seats WHERE id = ?", found.get(0)[0]);
                want(found.size() == 1 && seat[0].equals(buyer) && (Long) seat[1] > 1L << 50, "seat of " + buyer);
                System.out.println("update: " + found.get(0)[0]);
            }
        }

        try (PreparedStatement jobs = conn.prepareStatement("SELECT id, raisin_lock_acquire('job:' || id, 60000) FROM jobs WHERE state = 'ready' ORDER BY id LIMIT 10")) {
            for (int i = 0; i < 7; i++) {
                if (i == 6) {
                    try (Statement st = conn.createStatement()) {
                        st.execute("INSERT INTO jobs VALUES (5, 'ready')");
                    }
                }
                StringJoiner text = new StringJoiner(", ");
                for (Object[] row : rows(jobs)) {
                    String json = row[1].toString();
                    boolean acquired = json.contains("\"acquired\": true");
                    want(acquired || json.equals("{\"acquired\": false}"), "json " + json);
                    text.add((Integer) row[0] + " " + letter(acquired));
                }
                System.out.println("rows: " + text);
            }
        }

        conn.setAutoCommit(false);
        want(failure("INSERT INTO orders(flight, buyer) VALUES ('AA125', ?) RETURNING id", "nobody").equals("no error"), "an error");
        System.out.println("error: " + failure("INSERT INTO orders(flight, seats_left) SELECT 'AA125', l.token FROM raisin_lock_acquire(?, 5000) l RETURNING id", ""));
        System.out.println("aborted: " + failure("SELECT 1"));
        conn.rollback();
        System.out.println("orders: " + one("SELECT count(*) FROM orders")[0]);
        try (Statement st = conn.createStatement()) {
            st.execute("DROP SCHEMA jdbc CASCADE");
        }
        conn.commit();
        System.out.println("done");
    }

    static void relations() throws SQLException {
        one("SELECT raisin_lock_acquire('rel:1', 60000), raisin_lock_acquire('rel:2', 60000), raisin_inventory_claim('rel:p', 2, 10)");
        List<Object[]> found = new ArrayList<>();
        List<Object[]> since = new ArrayList<>();
        try (PreparedStatement locks = conn.prepareStatement("SELECT key, kind, waiters FROM raisin_locks(?) WHERE holder = ? ORDER BY key");
                PreparedStatement times = conn.prepareStatement("SELECT acquired_at FROM raisin_locks(?)")) {
            for (int i = 0; i < 7; i++) { // then it is named, and its results are binary
                found = rows(locks, "rel:", env("PGUSER", ""));
                since = rows(times, "rel:1");
            }
        }
        for (Object[] row : found) {
            System.out.println("lock: " + row[0] + " " + row[1] + " " + (Long) row[2]);
        }
        long age = System.currentTimeMillis() - ((java.sql.Timestamp) since.get(0)[0]).getTime();
        want(Math.abs(age) < 600000, "acquired_at " + since.get(0)[0]);
        System.out.println("since: t");
        Object[] pool = one("SELECT * FROM raisin_inventory_pools(?)", "rel:");
        System.out.println("pool: " + pool[0] + " " + pool[1] + " " + pool[2] + " " + pool[3]);
        System.out.println("count: " + one("SELECT count(*) FROM raisin_locks(?)", "rel:")[0]);
        System.out.println("wrapped: " + one("SELECT key FROM (SELECT * FROM raisin_locks('rel:')) AS virtual_table ORDER BY key LIMIT 1")[0]);
        System.out.println("too many: " + failure("SELECT * FROM raisin_locks(?, 1)", "rel:"));
        System.out.println("done");
    }

    /**
     * One connection for each line of the input, which has the PG* variables. The driver wants PGSSLKEY in PKCS #8 DER; before
     * 42.7.4 it has no channel binding, and ignores that it is told to use it.
     */
    static void logins() throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        int n = 0;
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Map<String, String> pg = new HashMap<>();
            for (String variable : line.split("\t")) {
                pg.put(variable.substring(0, variable.indexOf('=')), variable.substring(variable.indexOf('=') + 1));
            }
            System.out.println(login(pg, "login:" + ++n));
        }
    }

    static String login(Map<String, String> pg, String key) {
        Properties properties = new Properties();
        for (String name : new String[] {"user", "password", "sslmode", "sslrootcert", "sslcert", "sslkey", "channelBinding"}) {
            String value = pg.get("PG" + name.toUpperCase());
            if (!value.isEmpty()) {
                properties.setProperty(name, value);
            }
        }
        String url = "jdbc:postgresql://" + env("PGHOST", "127.0.0.1") + ":" + pg.get("PGPORT") + "/" + env("PGDATABASE", "postgres");
        try {
            conn = DriverManager.getConnection(url, properties);
        } catch (SQLException e) {
            return "refused: " + e.getSQLState();
        }
        try (Connection closed = conn) {
            return "connected: " + letter(one(ACQUIRE, key, 5000L)[0]);
        } catch (SQLException e) {
            return "connected: " + e.getSQLState();
        }
    }

    /** The only row of a statement, in the driver's native types. */
    static Object[] one(String sql, Object... args) throws SQLException {
        try (PreparedStatement st = conn.prepareStatement(sql)) {
            List<Object[]> rows = rows(st, args);
            want(rows.size() == 1, rows.size() + " rows from " + sql);
            return rows.get(0);
        }
    }

    static List<Object[]> rows(PreparedStatement st, Object... args) throws SQLException {
        List<Object[]> rows = new ArrayList<>();
        try (ResultSet rs = run(st, args)) {
            while (rs.next()) {
                Object[] row = new Object[rs.getMetaData().getColumnCount()];
                for (int i = 0; i < row.length; i++) {
                    row[i] = rs.getObject(i + 1);
                }
                rows.add(row);
            }
        }
        return rows;
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
