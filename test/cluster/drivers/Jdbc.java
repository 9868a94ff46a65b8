// The JDBC driver, which names a statement when it executes it for the fifth time: Jdbc.java PORT SSLMODE
import java.io.StringReader;
import java.sql.*;
import java.util.*;
import org.postgresql.PGConnection;

public class Jdbc {
    static final int KEYS = 60;
    static final int CLIENTS = 6;
    static String url;

    static void check(boolean right, String what) throws Exception {
        if (!right) throw new Exception(what);
    }

    static void fails(Statement statement, String text, String state) throws Exception {
        try {
            statement.execute(text);
        } catch (SQLException error) {
            check(state.equals(error.getSQLState()), error.toString());
            return;
        }
        throw new Exception("no error: " + text);
    }

    static void statements(Connection connection) throws Exception {
        PreparedStatement read = connection.prepareStatement("SELECT name FROM keyed WHERE id = ?");
        PreparedStatement write = connection.prepareStatement("UPDATE keyed SET amount = amount + 1 WHERE id = ?");
        for (int key = 1; key <= KEYS; key++) {
            read.setInt(1, key);
            try (ResultSet found = read.executeQuery()) {
                check(found.next() && found.getString(1).equals("n" + key), "wrong row");
            }
            write.setInt(1, key);
            check(write.executeUpdate() == 1, "not updated");
        }
    }

    static void batches(Connection connection, int number) throws Exception {
        PreparedStatement write = connection.prepareStatement("UPDATE keyed SET amount = amount + 1 WHERE id = ?");
        PreparedStatement add = connection.prepareStatement("INSERT INTO keyed VALUES (?, ?, ?)");
        for (int i = 1; i <= KEYS; i++) {
            write.setInt(1, i);
            write.addBatch();
            add.setInt(1, 1000 * (number + 1) + i);
            add.setString(2, "new");
            add.setInt(3, 0);
            add.addBatch();
        }
        check(Arrays.stream(add.executeBatch()).allMatch(count -> count == 1 || count == Statement.SUCCESS_NO_INFO), "batch");
        connection.setAutoCommit(false);
        write.executeBatch();
        connection.commit();
        Savepoint savepoint = connection.setSavepoint();
        fails(connection.createStatement(), "SELECT 1 / 0", "22012");
        connection.rollback(savepoint);
        PreparedStatement all = connection.prepareStatement("SELECT id FROM keyed WHERE id <= 400");
        all.setFetchSize(20);
        int rows = 0;
        try (ResultSet found = all.executeQuery()) {
            while (found.next()) rows++;
        }
        check(rows == 400, "rows: " + rows);
        connection.rollback();
        connection.setAutoCommit(true);
    }

    /** Transactions about one key; nothing is changed in the end. */
    static void transactions(Connection connection) throws Exception {
        connection.setAutoCommit(false);
        PreparedStatement read = connection.prepareStatement("SELECT amount FROM keyed WHERE id = ? FOR UPDATE");
        PreparedStatement write = connection.prepareStatement("UPDATE keyed SET amount = amount + ? WHERE id = ?");
        for (int key = 1; key <= KEYS; key++) {
            read.setInt(1, key);
            int amount;
            try (ResultSet found = read.executeQuery()) {
                check(found.next(), "no row");
                amount = found.getInt(1);
            }
            for (int change = 1; change >= -1; change -= 2) {
                write.setInt(1, change);
                write.setInt(2, key);
                check(write.executeUpdate() == 1, "not updated");
                try (ResultSet found = read.executeQuery()) {
                    check(found.next() && found.getInt(1) == amount + (change + 1) / 2, "wrong amount");
                }
            }
            if (key % 3 == 0) connection.rollback(); else connection.commit();
        }
        connection.setAutoCommit(true);
    }

    static void others(Connection connection, int number) throws Exception {
        Statement slow = connection.createStatement();
        slow.setQueryTimeout(1);        // the driver sends a cancel request
        fails(slow, "SELECT pg_sleep(600)", "57014");
        long copied = connection.unwrap(PGConnection.class).getCopyAPI()
            .copyIn("COPY keyed FROM STDIN", new StringReader((100000 + number) + "\tcopied\t0\n"));
        check(copied == 1, "copied");
        int columns = 0;
        try (ResultSet found = connection.getMetaData().getColumns(null, "public", "keyed", null)) {
            while (found.next()) columns++;
        }
        check(columns == 3, "columns: " + columns);
    }

    static void client(int number, List<Throwable> failures) {
        try (Connection connection = DriverManager.getConnection(url)) {
            statements(connection);
            batches(connection, number);
            transactions(connection);
            others(connection, number);
        } catch (Throwable failure) {
            failures.add(failure);
        }
    }

    public static void main(String[] arguments) throws Exception {
        url = "jdbc:postgresql://127.0.0.1:" + arguments[0] + "/postgres?user=postgres&sslmode=" + arguments[1];
        List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
        List<Thread> threads = new ArrayList<>();
        for (int number = 0; number < CLIENTS; number++) {
            int mine = number;
            threads.add(new Thread(() -> client(mine, failures)));
            threads.get(number).start();
        }
        for (Thread thread : threads) thread.join();
        for (Throwable failure : failures) failure.printStackTrace();
        check(failures.isEmpty(), "clients failed");
        int times = 2 * CLIENTS;
        for (String way : new String[]{"prepareThreshold=1", "prepareThreshold=-1", "preferQueryMode=simple",
                                       "preferQueryMode=extendedForPrepared", "reWriteBatchedInserts=true&binaryTransfer=true"})
            try (Connection connection = DriverManager.getConnection(url + "&" + way)) {
                statements(connection);
                times++;
            }
        try (Connection connection = DriverManager.getConnection(url);
             ResultSet found = connection.createStatement().executeQuery("SELECT sum(amount) FROM keyed")) {
            found.next();
            check(found.getInt(1) == times * KEYS, "sum: " + found.getInt(1));
        }
    }
}
