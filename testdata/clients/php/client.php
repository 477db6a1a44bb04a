<?php
// The client scenario of ../README.md with PHP's pdo_pgsql: real prepared statements, and emulated ones for the JSON step.
declare(strict_types=1);

const ACQUIRE = 'SELECT * FROM raisin_lock_acquire(?, ?)';
const CLAIM = 'SELECT * FROM raisin_inventory_claim(?, ?, ?)';

// libpq, below PDO, takes host, port, database, user and password from the PG* variables
$db = new PDO('pgsql:', null, null, [
    PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
    PDO::ATTR_EMULATE_PREPARES => false,
    PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_NUM,
]);

function execute(PDOStatement $st, array $args): array
{
    foreach ($args as $i => $arg) {
        $st->bindValue($i + 1, $arg, is_int($arg) ? PDO::PARAM_INT : PDO::PARAM_STR);
    }
    $st->execute();
    $rows = $st->fetchAll();
    want(count($rows) === 1, count($rows) . ' rows');
    return $rows[0];
}

function row(string $sql, array $args = [], array $options = []): array
{
    global $db;
    return execute($db->prepare($sql, $options), $args);
}

function failure(string $sql, array $args = []): string
{
    try {
        row($sql, $args);
    } catch (PDOException $e) {
        return (string) $e->getCode();
    }
    return 'no error';
}

function letter(mixed $value): string
{
    want(is_bool($value), var_export($value, true) . ' is not a bool');
    return $value ? 't' : 'f';
}

function want(bool $ok, string $what): void
{
    if (!$ok) {
        throw new RuntimeException("unexpected: $what");
    }
}

if (($argv[1] ?? '') === 'anonymous') {
    echo failure(ACQUIRE, ['seat:php', 5000]), "\n";
    echo failure(CLAIM, ['pool:php', 1, 5]), "\n";
    echo 'select: ', $db->query('SELECT 1')->fetchColumn(), "\n";
    exit(0);
}

$key = 'seat:php';
$now = fn (): int => (int) (microtime(true) * 1000);
[$acquired, $got, $token, $expires] = row(ACQUIRE, [$key, 5000]);
want($got === $key && is_int($token) && $token > 2 ** 50 && is_int($expires) && $expires > $now(), "$got $token $expires");
echo 'acquire: ', letter($acquired), "\n";

$row = row(ACQUIRE, [$key, 5000]);
want($row[1] === $key && $row[2] === null && $row[3] === null, json_encode($row));
echo 'refused: ', letter($row[0]), "\n";

echo 'renew: ', letter(row('SELECT raisin_lock_renew(?, ?, ?)', [$key, $token, 5000])[0]), "\n";
echo 'release: ', letter(row('SELECT raisin_lock_release(?, ?)', [$key, $token])[0]), "\n";
echo 'release again: ', letter(row('SELECT raisin_lock_release(?, ?)', [$key, $token])[0]), "\n";

$emulated = [PDO::ATTR_EMULATE_PREPARES => true];
$grant = json_decode(row('SELECT raisin_lock_acquire(?, ?)', ['json:php', 5000], $emulated)[0]);
want($grant->acquired === true && $grant->key === 'json:php' && $grant->token > 2 ** 50 && $grant->expires_at_ms > $now(), json_encode($grant));
echo "json: acquired\n";
echo row('SELECT raisin_lock_acquire(?, ?)', ['json:php', 5000], $emulated)[0], "\n";

foreach ([2, 2, 2, 1, 1] as $n) {
    [$claimed, $left] = row(CLAIM, ['pool:php', $n, 5]);
    want(is_int($left), var_export($left, true));
    echo 'claim: ', letter($claimed), " $left\n";
}
echo 'restock: ', row('SELECT raisin_inventory_release(?, ?)', ['pool:php', 2])[0], "\n";

$ten = $db->prepare('SELECT remaining FROM raisin_inventory_claim(?, ?, ?)');
$left = [];
for ($i = 0; $i < 10; $i++) {
    $left[] = execute($ten, ['ten:php', 1, 10])[0];
}
echo 'prepared: ', implode(' ', $left), "\n";

$db->beginTransaction();
echo 'error: ', failure(ACQUIRE, ['', 5000]), "\n";
echo 'aborted: ', failure('SELECT 1'), "\n";
$db->rollBack();
echo 'alive: ', $db->query('SELECT 1')->fetchColumn(), "\n";
echo "done\n";
