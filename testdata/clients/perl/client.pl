#!/usr/bin/perl
# The client scenario of ../README.md with DBD::Pg: server-side prepared statements, ping, type information.
use strict;
use warnings;
use DBI;
use JSON::PP;
use Time::HiRes 'time';

$| = 1;
my $ACQUIRE = 'SELECT * FROM raisin_lock_acquire(?, ?)';
my $CLAIM   = 'SELECT * FROM raisin_inventory_claim(?, ?, ?)';

# host, port, database, user and password come from the PG* variables
my $db = DBI->connect('dbi:Pg:', undef, undef, { RaiseError => 1, PrintError => 0, AutoCommit => 1 });

if (@ARGV && $ARGV[0] eq 'anonymous') {
    my $sth = $db->prepare($ACQUIRE, { pg_prepare_now => 1 });
    print failure($sth, 'seat:perl', 5000), "\n";
    print failure($CLAIM, 'pool:perl', 1, 5), "\n";
    print 'select: ', scalar($db->selectrow_array('SELECT 1')), "\n";
    $db->disconnect;
    exit;
}

die 'ping' unless $db->ping == 1;
my $key = 'seat:perl';
my $sth = $db->prepare($ACQUIRE);
$sth->execute($key, 5000);
die "types @{$sth->{pg_type}}" unless "@{$sth->{pg_type}}" eq 'bool text int8 int8';
die "names @{$sth->{NAME}}"    unless "@{$sth->{NAME}}" eq 'acquired key token expires_at_ms';
my ($acquired, $got, $token, $expires) = $sth->fetchrow_array;
die "row $got $token $expires" unless $got eq $key && $token =~ /^\d+$/ && $token > 2**50 && $expires > time * 1000;
die 'a second row' if $sth->fetchrow_array;
print 'acquire: ', letter($acquired), "\n";

my @row = $db->selectrow_array($ACQUIRE, undef, $key, 5000);
die 'refused row' unless $row[1] eq $key && !defined $row[2] && !defined $row[3];
print 'refused: ', letter($row[0]), "\n";

print 'renew: ',         letter(one('SELECT raisin_lock_renew(?, ?, ?)', $key, $token, 5000)), "\n";
print 'release: ',       letter(one('SELECT raisin_lock_release(?, ?)', $key, $token)), "\n";
print 'release again: ', letter(one('SELECT raisin_lock_release(?, ?)', $key, $token)), "\n";

my $grant = decode_json(one('SELECT raisin_lock_acquire(?, ?)', 'json:perl', 5000));
die 'json'
    unless $grant->{acquired} && $grant->{key} eq 'json:perl' && $grant->{token} > 2**50 && $grant->{expires_at_ms} > time * 1000;
print "json: acquired\n";
print one('SELECT raisin_lock_acquire(?, ?)', 'json:perl', 5000), "\n";

for my $n (2, 2, 2, 1, 1) {
    my ($claimed, $left) = $db->selectrow_array($CLAIM, undef, 'pool:perl', $n, 5);
    print 'claim: ', letter($claimed), " $left\n";
}
print 'restock: ', one('SELECT raisin_inventory_release(?, ?)', 'pool:perl', 2), "\n";

# the first execution uses the unnamed statement, the later ones a named one
my $ten = $db->prepare('SELECT remaining FROM raisin_inventory_claim(?, ?, ?)');
my @left = map { $ten->execute('ten:perl', 1, 10); my ($n) = $ten->fetchrow_array; $ten->finish; $n } 1 .. 10;
print "prepared: @left\n";

$db->begin_work;
print 'error: ',   failure($ACQUIRE, '', 5000), "\n";
print 'aborted: ', failure('SELECT 1'), "\n";
die 'ping in a failed transaction' unless $db->ping == 4;
$db->rollback;
print 'alive: ', one('SELECT 1'), "\n";
$db->disconnect;
print "done\n";

sub one {
    my ($sql, @args) = @_;
    my ($value) = $db->selectrow_array($sql, undef, @args);
    return $value;
}

sub failure {
    my ($statement, @args) = @_;
    eval { $db->selectall_arrayref($statement, undef, @args) };
    return $@ ? $db->state : 'no error';
}

# DBD::Pg gives a bool as 1 or 0
sub letter {
    my ($value) = @_;
    die "not a bool: $value" unless $value =~ /^[01]$/;
    return $value ? 't' : 'f';
}
