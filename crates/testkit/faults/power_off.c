/* Cuts the power of a mounted ext4: nothing more reaches its disk, not even its own log. Usage: power_off MOUNT */
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>

#define EXT4_IOC_SHUTDOWN 0x8004587DUL
#define NO_LOG_FLUSH 2

int main(int count, char **words) {
    unsigned flags = NO_LOG_FLUSH;
    int directory = count == 2 ? open(words[1], O_RDONLY) : -1;
    if (directory < 0 || ioctl(directory, EXT4_IOC_SHUTDOWN, &flags) != 0) {
        perror("power_off");
        return 1;
    }
    return 0;
}
