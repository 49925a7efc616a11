"""A camera: listens at the socket PATH, and sends the memory of its frames to the program that connects."""

import fcntl, json, mmap, os, socket, sys

WIDTH, HEIGHT = 4, 2
F_ADD_SEALS, F_SEAL_SHRINK = 1033, 2

memory = os.memfd_create("frames", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
os.ftruncate(memory, WIDTH * HEIGHT)
# A receiver refuses memory that could shrink, because reading it would end the process.
fcntl.fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK)

with mmap.mmap(memory, WIDTH * HEIGHT) as frame, socket.socket(socket.AF_UNIX) as listener:
    frame[:] = bytes(range(WIDTH * HEIGHT))
    listener.bind(sys.argv[1])
    listener.listen()
    print("python: listens", flush=True)
    connection, _ = listener.accept()
    socket.send_fds(connection, [json.dumps({"width": WIDTH, "height": HEIGHT}).encode()], [memory])
    sys.stdin.readline()  # the other program has changed the frame
    print("python: reads", list(frame[:]))
