/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bytes and messages by socket, thread and direction: summed here, read by user space when it wants to know.
 * Once a thread's flow is known a message costs two hash lookups and four additions. Pipes have no tracepoint
 * of their own: they are counted where a system call returns, which costs every system call of the machine,
 * so only on demand.
 */
#include "bpf/maps.h"
#include "bpf/task.h"

#include <bpf/bpf_endian.h>
#include <bpf/bpf_tracing.h>

#include "bpf/wire_flow.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* include/linux/socket.h; include/uapi/linux/magic.h, stat.h; arch/x86/entry/syscalls/syscall_64.tbl */
enum { AF_UNIX = 1, AF_INET = 2, AF_INET6 = 10, MSG_PEEK = 2 };
enum { SOCK_DGRAM = 2, IPPROTO_UDP = 17 };
enum { PIPEFS_MAGIC = 0x50495045, ANON_INODE_FS_MAGIC = 0x09041934, MQUEUE_MAGIC = 0x19800202 };
enum { S_IFMT = 0170000, S_IFIFO = 0010000, FMODE_WRITE = 2 };
enum {
    NR_READ = 0,
    NR_WRITE = 1,
    NR_READV = 19,
    NR_WRITEV = 20,
    NR_SENDFILE = 40,
    NR_SENDTO = 44,
    NR_SENDMSG = 46,
    NR_SEMOP = 65,
    NR_MSGSND = 69,
    NR_MSGRCV = 70,
    NR_SEMTIMEDOP = 220,
    NR_MQ_TIMEDSEND = 242,
    NR_MQ_TIMEDRECEIVE = 243,
    NR_SPLICE = 275,
    NR_TEE = 276,
    NR_VMSPLICE = 278,
    NR_SENDMMSG = 307,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
    unsigned int inum;
};

struct net {
    struct ns_common ns;
};

typedef struct {
    struct net *net;
} possible_net_t;

struct in6_addr {
    __u8 bytes[16];
};

struct sock_common {
    __u32 skc_daddr, skc_rcv_saddr;
    __u16 skc_dport, skc_num, skc_family;
    possible_net_t skc_net;
    struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
};

struct super_block {
    __u32 s_dev;
    unsigned long s_magic;
};

struct qstr {
    const unsigned char *name;
};

struct dentry {
    struct qstr d_name;
};

struct path {
    struct dentry *dentry;
};

struct inode___flow {
    unsigned short i_mode;
    unsigned long i_ino;
    struct super_block *i_sb;
};

struct file___flow {
    unsigned int f_mode;
    struct path f_path;
    struct inode___flow *f_inode;
    void *private_data;
};

struct eventfd_ctx {
    int id;
};

struct ipc_namespace {
    struct ns_common ns;
};

struct nsproxy___flow {
    struct ipc_namespace *ipc_ns;
};

struct task_struct___flow {
    struct nsproxy___flow *nsproxy;
};

struct socket {
    struct file *file;
    struct sock *sk;
};

struct sock {
    struct sock_common __sk_common;
    struct socket *sk_socket;
    __u16 sk_protocol, sk_type;
};

struct unix_address {
    int len;
    struct {
    } name[0];
};

struct unix_sock {
    struct unix_address *addr;
    struct sock *peer;
};

#pragma clang attribute pop

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 16384);
    __type(key, struct wire_flow_key);
    __type(value, struct wire_flow);
} flows SEC(".maps");

/* include/net/tcp_states.h */
enum { TCP_SYN_SENT = 2, TCP_CLOSE = 7 };

/* Sockets that have asked for a connection in the recording, until it is closed. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 65536);
    __type(key, __u64);
    __type(value, __u8);
} flow_active SEC(".maps");

/* A client of many servers, or a server of many clients, gets no more flows of its own when so many are made
 * that others might find no room. */
enum { SENT_MAX = 12288 };

const struct wire_flow flow_empty = {};
__u32 flow_entries = 0; /* made since user space last emptied the map */

static __always_inline int is_followed(__u32 tgid)
{
    return config_whole_machine || bpf_map_lookup_elem(&procs, &tgid);
}

static __always_inline void flow_lost(__u64 bytes)
{
    struct wire_lost *l = lost_here();

    if (l) {
        l->flow_messages++;
        l->flow_bytes += bytes;
    }
}

static __always_inline struct wire_flow *flow_new(const struct wire_flow_key *k)
{
    struct wire_flow *f;

    if (bpf_map_update_elem(&flows, k, &flow_empty, BPF_NOEXIST))
        return 0;
    f = bpf_map_lookup_elem(&flows, k);
    if (!f)
        return 0;
    __sync_fetch_and_add(&flow_entries, 1);
    task_describe(&f->task, bpf_get_current_task_btf());
    f->first = clock_now();
    return f;
}

static __always_inline void flow_count(struct wire_flow *f, int direction, __u64 bytes)
{
    __u64 now = clock_now();

    if (!f->messages[direction])
        f->begun[direction] = now;
    f->ended[direction] = now;
    f->bytes[direction] += bytes;
    f->messages[direction]++;
    f->last = now;
}

/* ---- where datagrams are sent ---- */

/* A datagram socket that is connected to nobody: each message tells where it goes. */
static __always_inline int is_free(struct sock *sk)
{
    __u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);

    if (family == AF_UNIX)
        return BPF_CORE_READ(sk, sk_type) == SOCK_DGRAM && !BPF_CORE_READ((struct unix_sock *)sk, peer);
    return (family == AF_INET || family == AF_INET6) && !BPF_CORE_READ(sk, __sk_common.skc_dport) &&
           BPF_CORE_READ(sk, sk_protocol) == IPPROTO_UDP;
}

/* sockaddr_in, sockaddr_in6, sockaddr_un: ip(7), ipv6(7), unix(7). Of what is shorter the rest is 0. */
struct where {
    union {
        __u16 family;
        struct {
            __u16 family, port;
            __u8 addr[4];
        } in;
        struct {
            __u16 family, port;
            __u32 flow;
            __u8 addr[16];
        } in6;
        struct {
            __u16 family;
            char path[WIRE_FLOW_PATH];
        } un;
        __u64 words[16]; /* the first 14 */
    };
    __u32 size;
};

/* msghdr and mmsghdr begin alike: recvmsg(2). */
struct user_message {
    __u64 name;
    __u32 size;
};

/* The tracepoint does not tell it, but the thread is still in the system call that does. Of several messages
 * in one call nobody knows which it is. */
static __always_inline int read_where(struct task_struct *t, struct where *w)
{
    struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(t);
    unsigned long nr = regs->orig_ax;
    struct user_message m = {.name = regs->r8, .size = regs->r9};
    __u64 size;

    if (nr == NR_SENDMMSG && regs->dx != 1)
        return -1;
    if (nr == NR_SENDMSG || nr == NR_SENDMMSG) {
        if (bpf_probe_read_user(&m, sizeof(m), (void *)regs->si))
            return -1;
    } else if (nr != NR_SENDTO) {
        return -1;
    }
    if (!m.name || m.size < sizeof(w->family) || m.size > sizeof(w->un))
        return -1;
    w->size = size = m.size;
    barrier_var(size); /* the verifier has forgotten */
    size &= sizeof(w->words) - 1;
    return bpf_probe_read_user(w->words, size, (void *)m.name) ? -1 : 0;
}

/* Two places have the same number as good as never. Only the address counts: not an IPv6 flow, nor a scope.
 */
static __always_inline __u64 number_of(struct where *w)
{
    __u64 n = 0;

    if (w->family == AF_INET6)
        w->in6.flow = w->words[3] = 0;
    else if (w->family == AF_INET)
        w->words[1] = 0;
    for (int i = 0; i < 14; i++)
        n = (n ^ w->words[i]) * 0x9e3779b97f4a7c15ull + (n >> 29);
    return n | 1;
}

/* An IPv6 socket sends to IPv4 by mapped addresses. */
static __always_inline void fill_where(struct wire_flow *f, const struct where *w)
{
    if (f->family == AF_UNIX) {
        __builtin_memcpy(f->path, w->un.path, WIRE_FLOW_PATH);
        f->path_len = w->size - 2;
        return;
    }
    f->peer_port = bpf_ntohs(w->in.port);
    if (w->family == AF_INET6) {
        __builtin_memcpy(f->peer_addr, w->in6.addr, 16);
    } else if (f->family == AF_INET6) {
        f->peer_addr[10] = f->peer_addr[11] = 0xff;
        __builtin_memcpy(f->peer_addr + 12, w->in.addr, 4);
    } else {
        __builtin_memcpy(f->peer_addr, w->in.addr, 4);
    }
}

/* ---- sockets ---- */

static __always_inline void fill_inet(struct wire_flow *f, struct sock *sk)
{
    f->port = BPF_CORE_READ(sk, __sk_common.skc_num);
    f->peer_port = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
    if (f->family == AF_INET) {
        BPF_CORE_READ_INTO(&f->addr, sk, __sk_common.skc_rcv_saddr);
        BPF_CORE_READ_INTO(&f->peer_addr, sk, __sk_common.skc_daddr);
    } else {
        bpf_probe_read_kernel(f->addr, 16, &sk->__sk_common.skc_v6_rcv_saddr);
        bpf_probe_read_kernel(f->peer_addr, 16, &sk->__sk_common.skc_v6_daddr);
    }
}

static __always_inline void fill_path(struct wire_flow *f, struct unix_sock *u)
{
    struct unix_address *a = BPF_CORE_READ(u, addr);
    __u32 len = a ? BPF_CORE_READ(a, len) : 0;

    if (len <= 2) /* sun_family alone */
        return;
    len -= 2;
    if (len > WIRE_FLOW_PATH)
        len = WIRE_FLOW_PATH;
    if (!bpf_probe_read_kernel(f->path, len,
                               (char *)a + bpf_core_field_offset(struct unix_address, name) + 2))
        f->path_len = len;
}

/* The other end may not be accepted yet when the first message is sent. */
static __always_inline void fill_unix(struct wire_flow *f, struct sock *sk)
{
    struct sock *peer = BPF_CORE_READ((struct unix_sock *)sk, peer);

    if (!f->path_len)
        fill_path(f, (struct unix_sock *)sk);
    if (!peer)
        return;
    f->peer_sk = (__u64)peer;
    f->peer_ino = BPF_CORE_READ(peer, sk_socket, file, f_inode, i_ino);
    if (!f->path_len)
        fill_path(f, (struct unix_sock *)peer);
}

static __always_inline void fill_socket(struct wire_flow *f, struct sock *sk)
{
    f->kind = WIRE_FLOW_SOCKET;
    f->sk = (__u64)sk;
    f->family = BPF_CORE_READ(sk, __sk_common.skc_family);
    f->protocol = BPF_CORE_READ(sk, sk_protocol);
    f->type = BPF_CORE_READ(sk, sk_type);
    f->net = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
    if (f->family == AF_INET || f->family == AF_INET6)
        fill_inet(f, sk);
}

static __always_inline void socket_moved(struct sock *sk, int ret, int direction)
{
    struct task_struct *t = bpf_get_current_task_btf();
    struct wire_flow_key k = {};
    struct where where = {};
    struct wire_flow *f;

    if (ret <= 0 || !is_followed(t->tgid))
        return;
    k.ino = BPF_CORE_READ(sk, sk_socket, file, f_inode, i_ino);
    if (!k.ino) /* the kernel's own */
        return;
    k.tid = t->pid;
    k.start = task_start(t);
    if (direction == WIRE_FLOW_OUT && flow_entries < SENT_MAX && is_free(sk) && !read_where(t, &where))
        k.to = number_of(&where);
    f = bpf_map_lookup_elem(&flows, &k);
    if (!f) {
        f = flow_new(&k);
        if (!f) {
            flow_lost(ret);
            return;
        }
        fill_socket(f, sk);
        f->active = bpf_map_lookup_elem(&flow_active, &f->sk) != 0;
        if (k.to)
            fill_where(f, &where);
    }
    if (f->family == AF_UNIX && !f->peer_ino && !k.to)
        fill_unix(f, sk);
    flow_count(f, direction, ret);
}

/* Whoever asks for a connection does so itself; whoever accepts it is told of by nobody. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(flow_state, struct sock *sk, int from, int to)
{
    __u64 t0, address = (__u64)sk;
    __u8 yes = 1;

    if (to != TCP_SYN_SENT && to != TCP_CLOSE)
        return 0;
    t0 = cost_begin();
    if (to == TCP_CLOSE)
        bpf_map_delete_elem(&flow_active, &address);
    else if (is_followed(bpf_get_current_task_btf()->tgid))
        bpf_map_update_elem(&flow_active, &address, &yes, BPF_ANY);
    return cost_end(t0);
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(flow_send, struct sock *sk, int ret, int flags)
{
    __u64 t0 = cost_begin();

    socket_moved(sk, ret, WIRE_FLOW_OUT);
    return cost_end(t0);
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(flow_receive, struct sock *sk, int ret, int flags)
{
    __u64 t0 = cost_begin();

    if (!(flags & MSG_PEEK))
        socket_moved(sk, ret, WIRE_FLOW_IN);
    return cost_end(t0);
}

/*
 * The same where the kernel has no such tracepoints (before 6.3): where the protocols' own functions return.
 * Those of sequenced packets are made of datagrams'. What sendfile(2) sends goes another way there.
 */
#define COUNT_SEND(function)                                                                                 \
    SEC("fexit/" #function)                                                                                  \
    int BPF_PROG(flow_exit_##function, struct socket *sock, void *message, __u64 size, int ret)              \
    {                                                                                                        \
        __u64 t0 = cost_begin();                                                                             \
                                                                                                             \
        socket_moved(BPF_CORE_READ(sock, sk), ret, WIRE_FLOW_OUT);                                           \
        return cost_end(t0);                                                                                 \
    }

#define COUNT_RECEIVE(function)                                                                              \
    SEC("fexit/" #function)                                                                                  \
    int BPF_PROG(flow_exit_##function, struct socket *sock, void *message, __u64 size, int flags, int ret)   \
    {                                                                                                        \
        __u64 t0 = cost_begin();                                                                             \
                                                                                                             \
        if (!(flags & MSG_PEEK))                                                                             \
            socket_moved(BPF_CORE_READ(sock, sk), ret, WIRE_FLOW_IN);                                        \
        return cost_end(t0);                                                                                 \
    }

COUNT_SEND(inet_sendmsg)
COUNT_SEND(inet6_sendmsg)
COUNT_SEND(unix_stream_sendmsg)
COUNT_SEND(unix_dgram_sendmsg)
COUNT_RECEIVE(inet_recvmsg)
COUNT_RECEIVE(inet6_recvmsg)
COUNT_RECEIVE(unix_stream_recvmsg)
COUNT_RECEIVE(unix_dgram_recvmsg)

/* ---- pipes, eventfds, queues ---- */

static __always_inline struct file___flow *file_of(struct task_struct *t, __u32 fd)
{
    struct fdtable *table = BPF_CORE_READ(t, files, fdt);
    struct file___flow *file = 0;

    if (!table || fd >= BPF_CORE_READ(table, max_fds))
        return 0;
    bpf_probe_read_kernel(&file, sizeof(file), BPF_CORE_READ(table, fd) + fd);
    return file;
}

/* The thread's flow through it; 0: no room, which is counted. */
static __always_inline struct wire_flow *flow_through(struct task_struct *t, struct wire_flow_key *k,
                                                      int kind, __u64 bytes, int *is_new)
{
    struct wire_flow *f;

    k->tid = t->pid;
    k->start = task_start(t);
    f = bpf_map_lookup_elem(&flows, k);
    *is_new = !f;
    if (f)
        return f;
    f = flow_new(k);
    if (f)
        f->kind = kind;
    else
        flow_lost(bytes);
    return f;
}

static __always_inline void fill_name(struct wire_flow *f, struct file___flow *file)
{
    long n =
        bpf_probe_read_kernel_str(f->path, sizeof(f->path), BPF_CORE_READ(file, f_path.dentry, d_name.name));

    f->path_len = n > 0 ? n - 1 : 0;
}

#define EVENTFD_NAME 0x6466746e6576655bull /* "[eventfd" */

static __always_inline void eventfd_moved(struct task_struct *t, struct file___flow *file, long ret,
                                          int direction)
{
    struct eventfd_ctx *ctx = BPF_CORE_READ(file, private_data);
    struct wire_flow_key k = {.ino = (__u64)ctx};
    struct wire_flow *f;
    union {
        char text[16];
        __u64 word;
    } name = {};
    int is_new;

    bpf_probe_read_kernel_str(name.text, sizeof(name.text), BPF_CORE_READ(file, f_path.dentry, d_name.name));
    if (name.word != EVENTFD_NAME || name.text[8] != ']')
        return;
    f = flow_through(t, &k, WIRE_FLOW_EVENTFD, ret, &is_new);
    if (!f)
        return;
    if (is_new)
        f->sk = bpf_core_field_exists(ctx->id) ? (__u64)BPF_CORE_READ(ctx, id) : -1ull;
    flow_count(f, direction, ret);
}

static __always_inline void pipe_moved(struct task_struct *t, __u32 fd, long ret, int direction)
{
    struct file___flow *file = file_of(t, fd);
    struct inode___flow *inode = file ? BPF_CORE_READ(file, f_inode) : 0;
    struct wire_flow_key k = {};
    struct wire_flow *f;
    unsigned long magic;
    int is_new;

    if (!inode)
        return;
    magic = BPF_CORE_READ(inode, i_sb, s_magic);
    if (magic == ANON_INODE_FS_MAGIC)
        eventfd_moved(t, file, ret, direction);
    if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFIFO)
        return;
    k.ino = BPF_CORE_READ(inode, i_ino);
    k.dev = magic == PIPEFS_MAGIC ? 0 : BPF_CORE_READ(inode, i_sb, s_dev);
    f = flow_through(t, &k, magic == PIPEFS_MAGIC ? WIRE_FLOW_PIPE : WIRE_FLOW_FIFO, ret, &is_new);
    if (!f)
        return;
    if (is_new && magic != PIPEFS_MAGIC)
        fill_name(f, file);
    flow_count(f, direction, ret);
}

static __always_inline void mqueue_moved(struct task_struct *t, __u32 fd, __u64 bytes, int direction)
{
    struct file___flow *file = file_of(t, fd);
    struct inode___flow *inode = file ? BPF_CORE_READ(file, f_inode) : 0;
    struct wire_flow_key k = {};
    struct wire_flow *f;
    int is_new;

    if (!inode || BPF_CORE_READ(inode, i_sb, s_magic) != MQUEUE_MAGIC)
        return;
    k.ino = BPF_CORE_READ(inode, i_ino);
    k.dev = BPF_CORE_READ(inode, i_sb, s_dev);
    f = flow_through(t, &k, WIRE_FLOW_MQUEUE, bytes, &is_new);
    if (!f)
        return;
    if (is_new)
        fill_name(f, file);
    flow_count(f, direction, bytes);
}

static __always_inline void message_moved(struct task_struct *t, __u32 id, __u64 bytes, int direction)
{
    struct task_struct___flow *full = (void *)t;
    struct wire_flow_key k = {.ino = id};
    struct wire_flow *f;
    int is_new;

    k.dev = BPF_CORE_READ(full, nsproxy, ipc_ns, ns.inum);
    f = flow_through(t, &k, WIRE_FLOW_SYSV_MSG, bytes, &is_new);
    if (!f)
        return;
    f->net = k.dev;
    flow_count(f, direction, bytes);
}

/* sys/sem.h */
struct sembuf {
    __u16 num;
    __s16 op;
    __s16 flags;
};

static __always_inline void semaphore_moved(struct task_struct *t, __u32 id, __u64 operations)
{
    struct task_struct___flow *full = (void *)t;
    struct wire_flow_key k = {.ino = id};
    struct sembuf first = {};
    struct wire_flow *f;
    int is_new;

    if (bpf_probe_read_user(&first, sizeof(first), (void *)operations))
        return;
    k.dev = BPF_CORE_READ(full, nsproxy, ipc_ns, ns.inum);
    f = flow_through(t, &k, WIRE_FLOW_SYSV_SEM, 0, &is_new);
    if (!f)
        return;
    f->net = k.dev;
    flow_count(f, first.op > 0 ? WIRE_FLOW_OUT : WIRE_FLOW_IN, 0);
}

static __always_inline int is_semaphore_call(unsigned long nr)
{
    return nr == NR_SEMOP || nr == NR_SEMTIMEDOP;
}

static __always_inline int is_write_end(struct task_struct *t, __u32 fd)
{
    struct file___flow *file = file_of(t, fd);

    return file && BPF_CORE_READ(file, f_mode) & FMODE_WRITE;
}

/* Whether data goes into what fd names; of vmsplice(2) the end of the pipe tells. */
static __always_inline int puts_in(struct task_struct *t, unsigned long nr, __u32 fd)
{
    return nr == NR_WRITE || nr == NR_WRITEV || nr == NR_SENDFILE ||
           (nr == NR_VMSPLICE && is_write_end(t, fd));
}

static __always_inline int is_message_call(unsigned long nr)
{
    return nr == NR_MSGSND || nr == NR_MSGRCV || nr == NR_MQ_TIMEDSEND || nr == NR_MQ_TIMEDRECEIVE ||
           is_semaphore_call(nr);
}

/* Of what is sent the third argument is the size. */
static __always_inline void count_message(struct task_struct *t, unsigned long nr, struct pt_regs *regs,
                                          long ret)
{
    int direction = nr == NR_MSGSND || nr == NR_MQ_TIMEDSEND ? WIRE_FLOW_OUT : WIRE_FLOW_IN;
    __u64 bytes = direction == WIRE_FLOW_OUT ? regs->dx : (__u64)ret;

    if (is_semaphore_call(nr))
        semaphore_moved(t, regs->di, regs->si);
    else if (nr == NR_MSGSND || nr == NR_MSGRCV)
        message_moved(t, regs->di, bytes, direction);
    else
        mqueue_moved(t, regs->di, bytes, direction);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(flow_pipe, struct pt_regs *regs, long ret)
{
    struct task_struct *t;
    unsigned long nr, fd, to;
    __u64 t0;

    if (ret < 0)
        return 0;
    nr = regs->orig_ax;
    if (nr > NR_WRITE && nr != NR_READV && nr != NR_WRITEV && nr != NR_SENDFILE && nr != NR_SPLICE &&
        nr != NR_TEE && nr != NR_VMSPLICE && !is_message_call(nr))
        return 0;
    if (!ret && !is_message_call(nr))
        return 0;
    t = bpf_get_current_task_btf();
    if (!is_followed(t->tgid))
        return 0;
    t0 = cost_begin();
    fd = regs->di;
    if (is_message_call(nr)) {
        count_message(t, nr, regs, ret);
        return cost_end(t0);
    }
    to = nr == NR_SPLICE ? regs->dx : regs->si; /* of those that have two */
    if (nr != NR_TEE)                           /* which takes nothing out */
        pipe_moved(t, fd, ret, puts_in(t, nr, fd) ? WIRE_FLOW_OUT : WIRE_FLOW_IN);
    if (nr == NR_SPLICE || nr == NR_TEE)
        pipe_moved(t, to, ret, WIRE_FLOW_OUT);
    return cost_end(t0);
}
