/* SPDX-License-Identifier: Apache-2.0 */
#include "model/redact.h"
#include "record/workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define R REDACTED

static void check(char *const *argv, const char *const *want)
{
    struct redacted r = {0};
    size_t n = 0;

    redact_command(&r, argv);
    for (; want[n]; n++) {
        assert_true(n < r.args.n);
        assert_string_equal(r.args.a[n], want[n]);
    }
    assert_int_equal(r.args.n, n);
    redacted_release(&r);
}

#define ARGS(...) ((char *const[]){__VA_ARGS__, NULL})
#define WANT(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_names(void **state)
{
    check(ARGS("run", "--token=abc"), WANT("run", "--token=" R));
    check(ARGS("run", "--api-key", "x y", "z"), WANT("run", "--api-key", R, "z"));
    check(ARGS("run", "-DMY_SECRET=q"), WANT("run", "-DMY_SECRET=" R));
    check(ARGS("env", "HF_TOKEN=hf_x", "python"), WANT("env", "HF_TOKEN=" R, "python"));
    check(ARGS("run", "--Password=a b c"), WANT("run", "--Password=" R));
    check(ARGS("run", "--db-passwd", "p=q"), WANT("run", "--db-passwd", R));
    check(ARGS("run", "--api-key="), WANT("run", "--api-key="));
}

static void test_no_secrets(void **state)
{
    check(ARGS("train.py", "--lr=0.1", "-v", ""), WANT("train.py", "--lr=0.1", "-v", ""));
    check(ARGS("t", "--max-tokens", "512"), WANT("t", "--max-tokens", "512"));
    check(ARGS("t", "--tokenizer=bert", "--tokenizer", "gpt2"),
          WANT("t", "--tokenizer=bert", "--tokenizer", "gpt2"));
    check(ARGS("t", "--use-auth-token", "--lr", "3"), WANT("t", "--use-auth-token", "--lr", "3"));
    check(ARGS("t", "http://host:80/a@b"), WANT("t", "http://host:80/a@b"));
}

static void test_inside(void **state)
{
    check(ARGS("sh", "-c", "TOKEN=abc  run --key k1"), WANT("sh", "-c", "TOKEN=" R "  run --key " R));
    check(ARGS("sh", "-c", "export PASSWORD='a b' x"), WANT("sh", "-c", "export PASSWORD=" R " x"));
    check(ARGS("curl", "-H", "Authorization: Bearer abc"), WANT("curl", "-H", "Authorization: Bearer " R));
    check(ARGS("git", "clone", "https://me:pw@host/x"), WANT("git", "clone", "https://me:" R "@host/x"));
}

static void test_pairs(void **state)
{
    check(ARGS("x", "--env", "{\"AWS_SECRET_ACCESS_KEY\": \"h2x\", \"N\": 1}"),
          WANT("x", "--env", "{\"AWS_SECRET_ACCESS_KEY\": \"" R "\", \"N\": 1}"));
    check(ARGS("x", "{\"aws_session_token\":\"h x\"}"), WANT("x", "{\"aws_session_token\":\"" R "\"}"));
    check(ARGS("x", "{'db':{'password':'h2x','port':80}}"),
          WANT("x", "{'db':{'password':'" R "','port':80}}"));
    check(ARGS("sh", "-c", "x -d {\\\"password\\\":\\\"h2x\\\"}"),
          WANT("sh", "-c", "x -d {\\\"password\\\":\\\"" R "\\\"}"));
    check(ARGS("curl", "-H", "X-Api-Key: h2x"), WANT("curl", "-H", "X-Api-Key: " R));
    check(ARGS("x", "AWS_SECRET_ACCESS_KEY:h2x"), WANT("x", "AWS_SECRET_ACCESS_KEY:" R));
    check(ARGS("x", "--db-pass", "h2x", "--bypass", "y"), WANT("x", "--db-pass", R, "--bypass", "y"));
    check(ARGS("curl", "-u", "me:h2x"), WANT("curl", "-u", "me:" R));
    check(ARGS("sh", "-c", "curl --user me:h2x u"), WANT("sh", "-c", "curl --user me:" R " u"));
    check(ARGS("x", "AKIAIOSFODNN7EXAMPLE"), WANT("x", R));
}

static void test_no_pairs(void **state)
{
    check(ARGS("d", "-u", "1000:1000", "-v", "/etc/keys:/keys"),
          WANT("d", "-u", "1000:1000", "-v", "/etc/keys:/keys"));
    check(ARGS("x", "{\"max_tokens\": 512, \"use_token\": true}"),
          WANT("x", "{\"max_tokens\": 512, \"use_token\": true}"));
    check(ARGS("x", "crate::token::Kind", "http://keycloak:80/a"),
          WANT("x", "crate::token::Kind", "http://keycloak:80/a"));
    check(ARGS("x", "AKIA", "sk-learn", "hf_hub"), WANT("x", "AKIA", "sk-learn", "hf_hub"));
    check(ARGS("python3", "-u", "train.py"), WANT("python3", "-u", "train.py"));
}

static void test_env(void **state)
{
    static char *const env[] = {"HOME=/root", "RANK=3", "SECRET=x", "OMP_NUM_THREADS=2", "RANKS=1", NULL};
    const char *out[8];

    assert_int_equal(redact_env(env, out, 8), 2);
    assert_string_equal(out[0], "RANK=3");
    assert_string_equal(out[1], "OMP_NUM_THREADS=2");
    assert_int_equal(redact_env(env, out, 1), 1);
}

static void named(char *const *argv, const char *want)
{
    char *name = workload_name(argv);

    assert_string_equal(name, want);
    free(name);
}

static void test_workload(void **state)
{
    named(ARGS("/usr/bin/python3.11", "-u", "a/train.py", "--lr", "1"), "train.py");
    named(ARGS("python", "-X", "dev", "-m", "torch.distributed.run", "t.py"), "torch.distributed.run");
    named(ARGS("python3", "-c", "import x"), "python3");
    named(ARGS("env", "A=1", "nice", "-n", "5", "bash", "./run me.sh"), "run_me.sh");
    named(ARGS("timeout", "10", "./a.out"), "a.out");
    named(ARGS("/bin/.hidden"), "hidden");
    named(ARGS("./"), "command");
    named(ARGS("sleeper", "1"), "sleeper");
    named(ARGS("env"), "env");
    named((char *const[]){NULL}, "command");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),    cmocka_unit_test(test_no_secrets), cmocka_unit_test(test_inside),
        cmocka_unit_test(test_pairs),    cmocka_unit_test(test_no_pairs),   cmocka_unit_test(test_env),
        cmocka_unit_test(test_workload),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
