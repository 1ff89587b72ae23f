/* Records what a process does to the files below one directory, and fails the call it is told to fail.
 *
 * Preloaded (LD_PRELOAD) into a crawl by tests/disk. Environment:
 *   RECORDER_ROOT  the directory; what lies elsewhere is not looked at, nor is SQLite's shared memory (-shm)
 *   RECORDER_LOG   the file that gets one record per call that succeeded
 *   RECORDER_FAIL  "KIND:N:ERRNO": the N-th sync, write, truncate or rename of this process fails, undone
 *
 * A call and its record are one critical section, so the order of the log is the order of the calls.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CREATE = 1, WRITE, TRUNCATE, SYNC, SYNC_DIRECTORY, RENAME, UNLINK, MKDIR, SYMLINK, LINK, FAILED };

struct head {
    uint32_t magic, process, op, name_length;
    uint64_t inode, offset, data_length;
};

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static size_t root_length;
static int log_file = -1;
static char fail_kind[16];
static long fail_at, fail_errno, calls;

#define REAL(name) ((__typeof__(&name))real(#name))

static void *real(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) abort();
    return found;
}

__attribute__((constructor)) static void prepare(void) {
    const char *given = getenv("RECORDER_ROOT"), *log = getenv("RECORDER_LOG"), *fail = getenv("RECORDER_FAIL");
    if (!given || !log) return;
    strncpy(root, given, sizeof root - 1);
    root_length = strlen(root);
    log_file = REAL(open)(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log_file < 0) abort();
    int high = fcntl(log_file, F_DUPFD_CLOEXEC, 700);
    if (high >= 0) { close(log_file); log_file = high; }
    if (fail) sscanf(fail, "%15[^:]:%ld:%ld", fail_kind, &fail_at, &fail_errno);
}

/* The path below the root, or NULL. */
static const char *below(const char *path) {
    size_t length = strlen(path);
    if (log_file < 0 || strncmp(path, root, root_length)) return NULL;
    if (!path[root_length]) return ".";
    if (path[root_length] != '/') return NULL;
    if (length > 4 && !strcmp(path + length - 4, "-shm")) return NULL;
    return path + root_length + 1;
}

static const char *of_file(int fd, char *buffer) {
    char link[64];
    if (log_file < 0) return NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, buffer, PATH_MAX - 1);
    if (length < 0) return NULL;
    buffer[length] = 0;
    if (length > 10 && !strcmp(buffer + length - 10, " (deleted)")) return NULL;
    return below(buffer);
}

static const char *of_path(int directory, const char *path, char *buffer) {
    if (log_file < 0) return NULL;
    if (path[0] == '/') {
        snprintf(buffer, PATH_MAX, "%s", path);
    } else {
        char home[PATH_MAX];
        if (directory == AT_FDCWD) {
            if (!getcwd(home, sizeof home)) return NULL;
        } else {
            char link[64];
            snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
            ssize_t length = readlink(link, home, sizeof home - 1);
            if (length < 0) return NULL;
            home[length] = 0;
        }
        snprintf(buffer, PATH_MAX, "%.2000s/%.2000s", home, path);
    }
    return below(buffer);
}

static void record(int op, const char *name, uint64_t inode, uint64_t offset, const void *data, size_t length) {
    struct head head = {0x4b534944, (uint32_t)getpid(), (uint32_t)op, (uint32_t)strlen(name), inode, offset, length};
    struct iovec parts[3] = {{&head, sizeof head}, {(void *)name, head.name_length}, {(void *)data, length}};
    int before = errno;
    if (REAL(writev)(log_file, parts, 3) < 0) abort();
    errno = before;
}

static uint64_t inode_of(int fd) {
    struct stat found;
    return fstat(fd, &found) ? 0 : found.st_ino;
}

/* Whether this is the call to fail. */
static int fails(const char *kind, const char *name, uint64_t inode) {
    if (strcmp(kind, fail_kind) || ++calls != fail_at) return 0;
    record(FAILED, name, inode, 0, kind, strlen(kind));
    errno = (int)fail_errno;
    return 1;
}

static int opened(int directory, const char *path, int flags, mode_t mode, int (*call)(int, const char *, int, ...)) {
    char buffer[PATH_MAX];
    const char *name = (flags & (O_CREAT | O_TRUNC)) ? of_path(directory, path, buffer) : NULL;
    if (!name) return call(directory, path, flags, mode);
    pthread_mutex_lock(&turn);
    struct stat found;
    int known = !fstatat(directory, path, &found, AT_SYMLINK_NOFOLLOW);
    int fd = call(directory, path, flags, mode);
    if (fd >= 0 && !known) record(CREATE, name, inode_of(fd), 0, NULL, 0);
    else if (fd >= 0 && (flags & O_TRUNC)) record(TRUNCATE, name, inode_of(fd), 0, NULL, 0);
    pthread_mutex_unlock(&turn);
    return fd;
}

#define OPEN(name, target, directory_parameter, directory)                                                  \
    int name(directory_parameter const char *path, int flags, ...) {                                         \
        mode_t mode = 0;                                                                                     \
        if (flags & O_CREAT) {                                                                               \
            va_list more;                                                                                    \
            va_start(more, flags);                                                                           \
            mode = va_arg(more, mode_t);                                                                     \
            va_end(more);                                                                                    \
        }                                                                                                    \
        return opened(directory, path, flags, mode, REAL(target));                                           \
    }
#define COMMA ,
OPEN(open, openat, , AT_FDCWD)
OPEN(open64, openat64, , AT_FDCWD)
OPEN(openat, openat, int directory COMMA, directory)
OPEN(openat64, openat64, int directory COMMA, directory)

#define CHANGE(kind, op, failure, call, noted)                                                               \
    char buffer[PATH_MAX];                                                                                   \
    const char *name = of_file(fd, buffer);                                                                  \
    if (!name) return call;                                                                                  \
    pthread_mutex_lock(&turn);                                                                               \
    uint64_t inode = inode_of(fd);                                                                           \
    __typeof__(call) done = failure;                                                                         \
    if (!fails(kind, name, inode)) {                                                                         \
        done = call;                                                                                         \
        if (done >= 0) noted;                                                                                \
    }                                                                                                        \
    pthread_mutex_unlock(&turn);                                                                             \
    return done;

ssize_t write(int fd, const void *data, size_t length) {
    CHANGE("write", WRITE, -1, REAL(write)(fd, data, length),
           record(WRITE, name, inode, (uint64_t)(lseek(fd, 0, SEEK_CUR) - done), data, (size_t)done))
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) {
    CHANGE("write", WRITE, -1, REAL(pwrite)(fd, data, length, offset),
           record(WRITE, name, inode, (uint64_t)offset, data, (size_t)done))
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) {
    CHANGE("write", WRITE, -1, REAL(pwrite64)(fd, data, length, offset),
           record(WRITE, name, inode, (uint64_t)offset, data, (size_t)done))
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    char buffer[PATH_MAX];
    if (!of_file(fd, buffer)) return REAL(writev)(fd, parts, count);
    ssize_t total = 0;
    for (int at = 0; at < count; at++) {
        ssize_t done = write(fd, parts[at].iov_base, parts[at].iov_len);
        if (done < 0) return total ? total : -1;
        total += done;
        if ((size_t)done < parts[at].iov_len) break;
    }
    return total;
}

int ftruncate(int fd, off_t length) {
    CHANGE("truncate", TRUNCATE, -1, REAL(ftruncate)(fd, length),
           record(TRUNCATE, name, inode, (uint64_t)length, NULL, 0))
}

int ftruncate64(int fd, off64_t length) {
    CHANGE("truncate", TRUNCATE, -1, REAL(ftruncate64)(fd, length),
           record(TRUNCATE, name, inode, (uint64_t)length, NULL, 0))
}

static int is_directory(int fd) {
    struct stat found;
    return !fstat(fd, &found) && S_ISDIR(found.st_mode);
}

int fsync(int fd) {
    CHANGE("sync", SYNC, -1, REAL(fsync)(fd), record(is_directory(fd) ? SYNC_DIRECTORY : SYNC, name, inode, 0, NULL, 0))
}

int fdatasync(int fd) {
    CHANGE("sync", SYNC, -1, REAL(fdatasync)(fd),
           record(is_directory(fd) ? SYNC_DIRECTORY : SYNC, name, inode, 0, NULL, 0))
}

static int moved(int from_directory, const char *from, int to_directory, const char *to) {
    char from_buffer[PATH_MAX], to_buffer[PATH_MAX];
    const char *name = of_path(from_directory, from, from_buffer), *target = of_path(to_directory, to, to_buffer);
    if (!name || !target) return REAL(renameat)(from_directory, from, to_directory, to);
    pthread_mutex_lock(&turn);
    int done = -1;
    if (!fails("rename", name, 0)) {
        done = REAL(renameat)(from_directory, from, to_directory, to);
        if (!done) record(RENAME, name, 0, 0, target, strlen(target));
    }
    pthread_mutex_unlock(&turn);
    return done;
}

int rename(const char *from, const char *to) { return moved(AT_FDCWD, from, AT_FDCWD, to); }
int renameat(int from_directory, const char *from, int to_directory, const char *to) {
    return moved(from_directory, from, to_directory, to);
}

#define NAME(op, directory, path, call, data)                                                                \
    char buffer[PATH_MAX];                                                                                   \
    const char *name = of_path(directory, path, buffer);                                                     \
    if (!name) return call;                                                                                  \
    pthread_mutex_lock(&turn);                                                                               \
    int done = call;                                                                                         \
    const char *more = data;                                                                                 \
    if (!done) record(op, name, 0, 0, more, strlen(more));                                                   \
    pthread_mutex_unlock(&turn);                                                                             \
    return done;

int unlinkat(int directory, const char *path, int flags) {
    NAME(UNLINK, directory, path, REAL(unlinkat)(directory, path, flags), "")
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
int mkdirat(int directory, const char *path, mode_t mode) {
    NAME(MKDIR, directory, path, REAL(mkdirat)(directory, path, mode), "")
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
int symlinkat(const char *target, int directory, const char *path) {
    NAME(SYMLINK, directory, path, REAL(symlinkat)(target, directory, path), target)
}
int symlink(const char *target, const char *path) { return symlinkat(target, AT_FDCWD, path); }

int linkat(int from_directory, const char *from, int to_directory, const char *to, int flags) {
    char from_buffer[PATH_MAX], to_buffer[PATH_MAX];
    const char *name = of_path(from_directory, from, from_buffer), *target = of_path(to_directory, to, to_buffer);
    if (!name || !target) return REAL(linkat)(from_directory, from, to_directory, to, flags);
    pthread_mutex_lock(&turn);
    int done = REAL(linkat)(from_directory, from, to_directory, to, flags);
    if (!done) record(LINK, name, 0, 0, target, strlen(target));
    pthread_mutex_unlock(&turn);
    return done;
}
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }
